package sqlite

import (
	"context"
	"math"

	"wamble"
	"wamble/internal/store/schema"
)

// Scores implements store.Queries.
func (s *Store) Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error) {
	if q.Limit < 1 || q.Limit > schema.MaxScores {
		return nil, schema.Badf("a page of scores has 1 to %d rows, not %d", schema.MaxScores, q.Limit)
	}
	before := int64(math.MaxInt64)
	if !q.Before.IsZero() {
		before = schema.Micros(q.Before)
	}
	rows, err := s.readers.QueryContext(ctx, `SELECT board, round(sum(points), 4), round(sum(delta), 4), max(at) AS ended FROM (
			SELECT y.board_id AS board, y.points_awarded AS points, 0 AS delta, y.created_at AS at
			FROM sessions s JOIN payouts y ON y.session_id = s.id WHERE s.player_id = ?1
			UNION ALL SELECT board_id, 0, delta, created_at FROM rating_changes WHERE player_id = ?1)
		GROUP BY board HAVING (ended, board) < (?2, ?3) ORDER BY ended DESC, board DESC LIMIT ?4`,
		int64(q.Player), before, int64(q.Board), q.Limit)
	if err != nil {
		return nil, sorted(ctx, "read scores", err)
	}
	defer rows.Close()
	var all []wamble.Score
	for rows.Next() {
		var row wamble.Score
		var at int64
		if err := rows.Scan(&row.Board, &row.Points, &row.Rating, &at); err != nil {
			return nil, sorted(ctx, "read scores", err)
		}
		row.At = schema.Time(at)
		all = append(all, row)
	}
	return all, sorted(ctx, "read scores", rows.Err())
}
