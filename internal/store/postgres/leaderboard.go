package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

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
	err = s.read(ctx, "read leaderboard", func(b *pgx.Batch) {
		b.Queue(ranks.Total, ranks.TotalArgs...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&out.Total,
				&out.Teams[0], &out.Teams[1])
		})
		b.Queue(ranks.Page, ranks.PageArgs...).Query(each(func(rows pgx.Rows) error {
			row, err := schema.ScanRank(rows.Scan)
			row.Rank = q.Offset + len(out.Rows) + 1
			out.Rows = append(out.Rows, row)
			return err
		}))
		if q.Self != 0 {
			b.Queue(ranks.Self, ranks.SelfArgs...).Query(each(func(rows pgx.Rows) error {
				row, err := schema.ScanRank(rows.Scan)
				row.Session, out.Self = q.Self, &row
				return err
			}))
		}
	})
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	return out, nil
}
