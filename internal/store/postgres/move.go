package postgres

import (
	"fmt"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// recordMoves writes runs of moves. If a ply of a run is stored already, it is unknown which of
// the other plies are new: then repeatMoves writes them.
func recordMoves(_ string, intents []intent.Intent) []statement {
	moves := schema.As[*intent.RecordMove](intents)
	runs, ok := schema.MoveRuns(moves)
	if !ok {
		return []statement{{sql: `SELECT WHERE false`, rows: 1, verify: verifyRepeat}}
	}
	if len(moves) == 1 {
		return writeMoves(moves, runs, verifyMoves)
	}
	return writeMoves(moves, runs, verifyRepeat)
}

// repeatMoves writes moves of which some may be stored: each is a run of its own. If a ply
// occurs twice, each move also gets a statement of its own, because a statement does not see
// its own writes.
func repeatMoves(_ string, intents []intent.Intent) (all []statement) {
	moves := schema.As[*intent.RecordMove](intents)
	_, ordered := schema.MoveRuns(moves)
	var alone []schema.MoveRun
	for i := range moves {
		run, _ := schema.MoveRuns(moves[i : i+1])
		if alone = append(alone, run...); !ordered {
			all = append(all, writeMoves(moves[i:i+1], run, verifyMoves)...)
		}
	}
	if ordered {
		all = writeMoves(moves, alone, verifyMoves)
	}
	return all
}

// writeMoves writes moves in runs. It counts a game only together with a new row: either all
// rows must be new (verifyRepeat), or each move is checked, because a statement does not see
// its own writes. It joins rows only by keys, because thousands of moves arrive at once.
func writeMoves(moves []*intent.RecordMove, runs []schema.MoveRun, verify string) []statement {
	n := len(runs)
	boards, firsts, counts := make([]int64, n), make([]int32, n), make([]int32, n)
	ended, texts := make([]time.Time, n), make([]string, n)
	for i, r := range runs {
		boards[i], firsts[i], counts[i], ended[i], texts[i] = int64(r.Board), int32(r.First), int32(r.Count), r.Ended,
			r.Moves
	}
	var players, games []int64 // sessions with their first move, and its board
	var plies []int32          // ply of that move
	for _, in := range schema.FirstMoves(moves) {
		players, games, plies = append(players, int64(in.Session)), append(games, int64(in.Board)),
			append(plies, int32(in.Ply))
	}
	isNew := `true`
	if verify != verifyRepeat {
		isNew = endBefore("f.board", "f.ply::bigint + 1") + ` <= f.ply`
	}
	distinct := schema.Distinct(n, func(i int) int64 { return boards[i] })
	insert := statement{rows: n, args: []any{boards, firsts, counts, ended, texts, players, games, plies, distinct}, verify: verify, sql: `
		WITH games AS (
			SELECT f.session, count(DISTINCT b.id) AS games, count(DISTINCT b.id) FILTER (WHERE b.variant IS NOT NULL) AS chess960,
				string_agg(int8send(b.id), ''::bytea ORDER BY f.n) AS trail
			FROM unnest($6::bigint[], $7::bigint[], $8::int[]) WITH ORDINALITY AS f(session, board, ply, n)
			JOIN boards b ON b.id = f.board AND b.id = ANY($9::bigint[]) WHERE ` + isNew + ` GROUP BY f.session),
		counted AS (
			UPDATE sessions s SET games_played = s.games_played + g.games, chess960_games_played = s.chess960_games_played + g.chess960,
				trail = substring(s.trail || g.trail FROM greatest(length(s.trail) + length(g.trail) - ` + fmt.Sprint(schema.TrailBytes-1) + `, 1))
			FROM games g WHERE s.id = g.session)
		INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves) SELECT board, first, count, ended, moves::json
		FROM unnest($1::bigint[], $2::int[], $3::int[], $4::timestamptz[], $5::text[]) AS v(board, first, count, ended, moves)
		WHERE ` + endBefore("v.board", "v.first::bigint + v.count") + ` <= v.first`}
	if verify == verifyMoves {
		insert.compare = compareMoves(moves)
	}
	return []statement{
		mustExist(intent.KindRecordMove, "boards", "board", distinct),
		mustExist(intent.KindRecordMove, "sessions", "session",
			schema.Distinct(len(moves), func(i int) int64 { return int64(moves[i].Session) })),
		insert}
}

// endBefore is SQL for the ply after the last run of a board that begins before a ply. Runs do
// not overlap.
func endBefore(board, ply string) string {
	return `coalesce((SELECT r.first_ply::bigint + r.plies FROM move_runs r WHERE r.board_id = ` + board +
		` AND r.first_ply < ` + ply + ` ORDER BY r.first_ply DESC LIMIT 1), 0)`
}

// verifyMoves compares moves with the stored ones.
const verifyMoves = `SELECT format('RECORD_MOVE: ply %s of board %s is %s by session %s, not %s by session %s', v.ply, v.board, m.move ->> 1, m.move ->> 0, v.uci, v.session)
	FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[]) AS v(board, session, uci, ply)
	CROSS JOIN LATERAL (SELECT * FROM move_runs WHERE board_id = v.board AND first_ply <= v.ply ORDER BY first_ply DESC LIMIT 1) AS r
	CROSS JOIN LATERAL (SELECT r.moves -> (v.ply - r.first_ply)) AS m(move)
	WHERE v.ply < r.first_ply + r.plies AND (m.move ->> 1 <> v.uci OR (m.move ->> 0)::bigint <> v.session) LIMIT 1`

// compareMoves returns the args of verifyMoves.
func compareMoves(moves []*intent.RecordMove) []any {
	n := len(moves)
	boards, sessions, ucis, plies := make([]int64, n), make([]int64, n), make([]string, n), make([]int32, n)
	for i, in := range moves {
		boards[i], sessions[i], ucis[i], plies[i] = int64(in.Board), int64(in.Session), in.UCI, int32(in.Ply)
	}
	return []any{boards, sessions, ucis, plies}
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
