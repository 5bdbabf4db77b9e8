package postgres

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// recordPredictions drops the parent of a prediction if the parent was deleted.
func recordPredictions(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, boards, sessions, parents := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ucis, plies, streaks, at := make([]string, n), make([]int32, n), make([]int32, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.RecordPrediction](run) {
		ids[i], boards[i], sessions[i], parents[i] = int64(in.ID), int64(in.Board), int64(in.Session), int64(in.Parent)
		ucis[i], plies[i], streaks[i], at[i] = in.UCI, int32(in.Ply), int32(in.Streak), in.At
	}
	return []statement{
		mustExist(intent.KindRecordPrediction, "sessions", "session",
			schema.Distinct(n, func(i int) int64 { return sessions[i] })),
		{rows: -1, args: []any{ids, boards, sessions, parents, ucis, plies, streaks, at}, sql: `
		WITH v AS MATERIALIZED (
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::int[], $7::int[], $8::timestamptz[])
				AS v(id, board, session, parent, uci, ply, streak, at) WHERE ` + here("v.session") + `)
		INSERT INTO predictions (id, board_id, session_id, parent_prediction_id, predicted_move_uci, move_number, correct_streak, created_at)
		SELECT id, board, session, CASE WHEN EXISTS (SELECT FROM predictions p WHERE p.id = v.parent) OR v.parent IN (SELECT w.id FROM v w) THEN v.parent END,
			uci, ply, streak, at
		FROM v ON CONFLICT (id) DO NOTHING`}}
}

// resolvePredictions pays only pending predictions; of two resolutions the first counts.
func resolvePredictions(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, sessions, states, points, at := make([]int64, n), make([]int64, n), make([]string, n), make([]float64, n),
		make([]time.Time, n)
	for i, in := range schema.As[*intent.ResolvePrediction](run) {
		ids[i], sessions[i], states[i], points[i], at[i] = int64(in.ID), int64(in.Session), in.Status.String(),
			in.Points, in.At
	}
	return []statement{{rows: -1, args: []any{ids, sessions, states, points, at}, sql: `
		WITH v AS (
			SELECT DISTINCT ON (id, session) *
			FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::float8[], $5::timestamptz[]) WITH ORDINALITY AS v(id, session, status, points, at, n)
			ORDER BY id, session, n),
		resolved AS (
			UPDATE predictions p SET status = v.status, points_awarded = v.points, resolved_at = v.at
			FROM v WHERE p.id = v.id AND p.session_id = v.session AND p.status = 'PENDING' RETURNING p.session_id, p.points_awarded)
		UPDATE sessions s SET total_prediction_score = s.total_prediction_score + r.points
		FROM (SELECT session_id, sum(points_awarded) AS points FROM resolved GROUP BY session_id HAVING sum(points_awarded) <> 0) r WHERE s.id = r.session_id`}}
}
