package postgres

import (
	"math"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func recordResults(_ string, run []intent.Intent) []statement {
	n := len(run)
	boards, sides, at := make([]int64, n), make([]string, n), make([]time.Time, n)
	plies, micros, reasons := make([]int32, n), make([]int64, n), make([]string, n)
	for i, in := range schema.As[*intent.RecordGameResult](run) {
		boards[i], sides[i], at[i] = int64(in.Board), in.Result.String(), in.At
		plies[i], micros[i], reasons[i] = int32(in.Plies), in.Duration.Microseconds(), in.Reason
	}
	return []statement{{rows: -1, args: []any{boards, sides, at, plies, micros, reasons}, sql: `
		INSERT INTO game_results AS g (board_id, winning_side, finished_at, move_count, duration_us, termination_reason)
		SELECT DISTINCT ON (board) board, side, at, plies, micros, reason
		FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::int[], $5::bigint[], $6::text[]) AS v(board, side, at, plies, micros, reason)
		ORDER BY board, at DESC
		ON CONFLICT (board_id) DO UPDATE SET winning_side = EXCLUDED.winning_side, finished_at = EXCLUDED.finished_at, move_count = EXCLUDED.move_count,
			duration_us = EXCLUDED.duration_us, termination_reason = EXCLUDED.termination_reason
		WHERE EXCLUDED.finished_at > g.finished_at`}}
}

// recordPayouts writes payouts, and adds them to the scores of their sessions. If one of them
// is stored already, nothing is written and repeatPayouts writes them: ON CONFLICT would cost a
// fifth more.
func recordPayouts(_ string, run []intent.Intent) []statement {
	return writePayouts(run, "", verifyRepeat)
}

// repeatPayouts adds to a session's score only together with a new row.
func repeatPayouts(_ string, run []intent.Intent) []statement {
	return writePayouts(run, "ON CONFLICT (board_id, session_id) DO NOTHING", "")
}

func writePayouts(run []intent.Intent, conflict, verify string) []statement {
	n := len(run)
	boards, sessions, at := make([]int64, n), make([]int64, n), make([]time.Time, n)
	points, canonical := make([]int64, n), make([]int64, n)
	for i, in := range schema.As[*intent.RecordPayout](run) {
		boards[i], sessions[i], at[i] = int64(in.Board), int64(in.Session), in.At
		points[i], canonical[i] = tenThousandths(in.Points), tenThousandths(in.Canonical)
	}
	return []statement{
		mustExist(intent.KindRecordPayout, "boards", "board",
			schema.Distinct(n, func(i int) int64 { return boards[i] })),
		mustExist(intent.KindRecordPayout, "sessions", "session",
			schema.Distinct(n, func(i int) int64 { return sessions[i] })),
		{rows: -1, verify: verify, args: []any{boards, sessions, points, canonical, at}, sql: `
		WITH new AS (
			INSERT INTO payouts (board_id, session_id, points_awarded, points_canonical, created_at)
			SELECT board, session, points * 0.0001, canonical * 0.0001, at
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[]) AS v(board, session, points, canonical, at)
			` + conflict + ` RETURNING session_id, points_awarded)
		UPDATE sessions s SET total_score = s.total_score + p.points
		FROM (SELECT session_id, sum(points_awarded) AS points FROM new GROUP BY session_id) p WHERE s.id = p.session_id`}}
}

// tenThousandths returns points in units of 0.0001, the precision of the columns. Converting a
// double to numeric would take the server 2 µs, a sixth of the cost of a payout.
func tenThousandths(points float64) int64 { return int64(math.Round(points * 10_000)) }
