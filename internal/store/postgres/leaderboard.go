package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"wamble"
	"wamble/internal/store/schema"
)

const selectRank = `SELECT s.id, p.public_key, coalesce(p.handle, ''), s.total_score::float8, s.total_prediction_score::float8, s.rating::float8,
	s.games_played, s.chess960_games_played, %s FROM sessions s LEFT JOIN players p ON p.id = s.player_id `

// Leaderboard implements store.Queries. Both orders are indexes, so a page
// costs its offset and a rank costs the rows before it, never a sort.
func (s *Store) Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	first, second, err := schema.LeaderboardOrder(q)
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	page := fmt.Sprintf(selectRank+`ORDER BY s.%s DESC, s.%s DESC, s.id LIMIT $1 OFFSET $2`, "0", first, second)
	self := fmt.Sprintf(selectRank+`WHERE s.id = $1`, fmt.Sprintf(`1
		+ (SELECT count(*) FROM sessions o WHERE o.%[1]s > s.%[1]s)
		+ (SELECT count(*) FROM sessions o WHERE o.%[1]s = s.%[1]s AND o.%[2]s > s.%[2]s)
		+ (SELECT count(*) FROM sessions o WHERE o.%[1]s = s.%[1]s AND o.%[2]s = s.%[2]s AND o.id < s.id)`, first, second))
	var out wamble.Leaderboard
	err = s.read(ctx, "read leaderboard", func(b *pgx.Batch) {
		b.Queue(`SELECT count(*) FROM sessions`).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Total) })
		b.Queue(page, q.Limit, q.Offset).Query(each(func(rows pgx.Rows) error {
			row, err := schema.ScanRank(rows.Scan)
			row.Rank = q.Offset + len(out.Rows) + 1
			out.Rows = append(out.Rows, row)
			return err
		}))
		if q.Self != 0 {
			b.Queue(self, int64(q.Self)).Query(each(func(rows pgx.Rows) error {
				row, err := schema.ScanRank(rows.Scan)
				out.Self = &row
				return err
			}))
		}
	})
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	return out, nil
}
