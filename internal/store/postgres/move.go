package postgres

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

const theseMoves = `unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::timestamptz[]) AS v(board, session, uci, ply, at)`

// recordMoves counts a game only together with a new row: a statement does not
// see what it writes, so a move that it finds was there before. It joins nothing
// but rows by their keys, because thousands of moves come at once.
func recordMoves(_ string, run []intent.Intent) []statement {
	n := len(run)
	boards, sessions, ucis := make([]int64, n), make([]int64, n), make([]string, n)
	plies, at := make([]int32, n), make([]time.Time, n)
	var players, games []int64 // who moves for the first time, on which board
	var first []int32          // and the ply of that
	for i, in := range schema.As[*intent.RecordMove](run) {
		boards[i], sessions[i], ucis[i] = int64(in.Board), int64(in.Session), in.UCI
		plies[i], at[i] = int32(in.Ply), in.At
		if in.First {
			players, games, first = append(players, sessions[i]), append(games, boards[i]), append(first, plies[i])
		}
	}
	return []statement{
		mustExist(intent.KindRecordMove, "boards", "board", schema.Distinct(n, func(i int) int64 { return boards[i] })),
		mustExist(intent.KindRecordMove, "sessions", "session", schema.Distinct(n, func(i int) int64 { return sessions[i] })),
		{rows: n, args: []any{boards, sessions, ucis, plies, at, players, games, first}, sql: `
		WITH games AS (
			SELECT f.session, count(DISTINCT b.id) AS games, count(DISTINCT b.id) FILTER (WHERE b.variant IS NOT NULL) AS chess960
			FROM unnest($6::bigint[], $7::bigint[], $8::int[]) AS f(session, board, ply) JOIN boards b ON b.id = f.board
			WHERE NOT EXISTS (SELECT FROM moves m WHERE m.board_id = f.board AND m.move_number = f.ply) GROUP BY f.session),
		counted AS (
			UPDATE sessions s SET games_played = s.games_played + g.games, chess960_games_played = s.chess960_games_played + g.chess960
			FROM games g WHERE s.id = g.session)
		INSERT INTO moves (board_id, session_id, move_uci, move_number, timestamp) SELECT board, session, uci, ply, at FROM ` + theseMoves + `
		ON CONFLICT (board_id, move_number) DO NOTHING`,
			verify: `SELECT format('RECORD_MOVE: ply %s of board %s is %s by session %s, not %s by session %s', v.ply, v.board, m.move_uci, m.session_id, v.uci, v.session)
		FROM ` + theseMoves + ` JOIN moves m ON m.board_id = v.board AND m.move_number = v.ply WHERE m.move_uci <> v.uci OR m.session_id <> v.session LIMIT 1`,
			checks: 5}}
}

func recordShown(_ string, run []intent.Intent) []statement {
	n := len(run)
	sessions, boards, ucis, at := make([]int64, n), make([]int64, n), make([]string, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.RecordLastMoveShown](run) {
		sessions[i], boards[i], ucis[i], at[i] = int64(in.Session), int64(in.Board), in.UCI, in.At
	}
	return []statement{{rows: -1, args: []any{sessions, boards, ucis, at}, sql: `
		INSERT INTO board_last_move_shown_events (session_id, board_id, shown_uci, emitted_at)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[]) AS v(session, board, uci, at)
		WHERE ` + here("v.session") + ` ON CONFLICT DO NOTHING`}}
}

// selectMoves reads the moves of the boards that a page consists of.
const selectMoves = `SELECT m.board_id, m.move_number, m.move_uci, m.session_id, coalesce(p.handle, ''), coalesce(p.rating, 0)::float8, m.timestamp
	FROM (SELECT b.id FROM boards b LEFT JOIN game_results g ON g.board_id = b.id %s) page
	JOIN moves m ON m.board_id = page.id JOIN sessions s ON s.id = m.session_id LEFT JOIN players p ON p.id = s.player_id
	ORDER BY m.board_id, m.move_number`
