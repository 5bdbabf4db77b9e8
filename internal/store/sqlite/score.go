package sqlite

import (
	"context"
	"math"

	"wamble"
	"wamble/internal/store/schema"
)

// Scores implements store.Queries.
func (s *Store) Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error) {
	if err := schema.CheckScores(q); err != nil {
		return nil, err
	}
	before := int64(math.MaxInt64)
	if !q.Before.IsZero() {
		before = schema.Micros(q.Before)
	}
	return readAll(ctx, s, "read scores", `SELECT board, round(sum(points), 4), round(sum(delta), 4), max(at) AS ended FROM (
			SELECT y.board_id AS board, y.points_awarded AS points, 0 AS delta, y.created_at AS at
			FROM sessions s JOIN payouts y ON y.session_id = s.id WHERE s.player_id = ?1
			UNION ALL SELECT board_id, 0, delta, created_at FROM rating_changes WHERE player_id = ?1)
		GROUP BY board HAVING (ended, board) < (?2, ?3) ORDER BY ended DESC, board DESC LIMIT ?4`,
		[]any{int64(q.Player), before, int64(q.Board), q.Limit}, schema.ScanScore)
}
