package postgres

import (
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

// recordPayouts adds to a session's score only together with a new row.
func recordPayouts(_ string, run []intent.Intent) []statement {
	n := len(run)
	boards, sessions, at := make([]int64, n), make([]int64, n), make([]time.Time, n)
	points, canonical := make([]float64, n), make([]float64, n)
	for i, in := range schema.As[*intent.RecordPayout](run) {
		boards[i], sessions[i], at[i] = int64(in.Board), int64(in.Session), in.At
		points[i], canonical[i] = in.Points, in.Canonical
	}
	return []statement{
		mustExist(intent.KindRecordPayout, "boards", "board", schema.Distinct(n, func(i int) int64 { return boards[i] })),
		mustExist(intent.KindRecordPayout, "sessions", "session", schema.Distinct(n, func(i int) int64 { return sessions[i] })),
		{rows: -1, args: []any{boards, sessions, points, canonical, at}, sql: `
		WITH new AS (
			INSERT INTO payouts (board_id, session_id, points_awarded, points_canonical, created_at)
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::float8[], $5::timestamptz[])
			ON CONFLICT (board_id, session_id) DO NOTHING RETURNING session_id, points_awarded)
		UPDATE sessions s SET total_score = s.total_score + p.points
		FROM (SELECT session_id, sum(points_awarded) AS points FROM new GROUP BY session_id) p WHERE s.id = p.session_id`}}
}
