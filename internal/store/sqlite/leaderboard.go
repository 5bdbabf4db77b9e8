package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"wamble"
	"wamble/internal/store/schema"
)

// Leaderboard implements store.Queries.
func (s *Store) Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	ranks, err := schema.RanksOf(q)
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	var out wamble.Leaderboard
	err = s.read(ctx, "read leaderboard", func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, ranks.Total, ranks.TotalArgs...).Scan(&out.Total, &out.Teams[0],
			&out.Teams[1]); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, ranks.Page, ranks.PageArgs...)
		if out.Rows, err = scanAll(rows, err, schema.ScanRank); err != nil {
			return err
		}
		for i := range out.Rows {
			out.Rows[i].Rank = q.Offset + i + 1
		}
		if q.Self == 0 {
			return nil
		}
		self, err := schema.ScanRank(tx.QueryRowContext(ctx, ranks.Self, ranks.SelfArgs...).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		self.Session, out.Self = q.Self, &self
		return err
	})
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	return out, nil
}
