package postgres

import (
	"context"
	"time"

	"wamble"
	"wamble/internal/store/schema"
)

// Scores implements store.Queries.
func (s *Store) Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error) {
	if err := schema.CheckScores(q); err != nil {
		return nil, err
	}
	var before *time.Time
	if !q.Before.IsZero() {
		before = &q.Before
	}
	return readAll(ctx, s, "read scores", `SELECT board, sum(points)::float8, sum(delta)::float8, max(at) FROM (
			SELECT y.board_id AS board, y.points_awarded AS points, 0 AS delta, y.created_at AS at
			FROM sessions s JOIN payouts y ON y.session_id = s.id WHERE s.player_id = $1
			UNION ALL SELECT board_id, 0, delta, created_at FROM rating_changes WHERE player_id = $1) h
		GROUP BY board HAVING $2::timestamptz IS NULL OR (max(at), board) < ($2::timestamptz, $3::bigint)
		ORDER BY max(at) DESC, board DESC LIMIT $4`, []any{int64(q.Player), before, int64(q.Board), q.Limit}, schema.ScanScore)
}
