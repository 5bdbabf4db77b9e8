package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/store/schema"
)

const selectRank = `SELECT s.id, p.public_key, ifnull(p.handle, ''), s.total_score, s.total_prediction_score, s.rating, s.games_played, s.chess960_games_played, 0
	FROM sessions s LEFT JOIN players p ON p.id = s.player_id `

// Leaderboard implements store.Queries. Both orders are indexes, so a page
// costs its offset and a rank costs the rows before it, never a sort.
func (s *Store) Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	first, second, err := schema.LeaderboardOrder(q)
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	var out wamble.Leaderboard
	err = s.read(ctx, "read leaderboard", func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sessions`).Scan(&out.Total); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, fmt.Sprintf(selectRank+`ORDER BY s.%s DESC, s.%s DESC, s.id LIMIT ? OFFSET ?`, first, second), q.Limit, q.Offset)
		if out.Rows, err = scanAll(rows, err, schema.ScanRank); err != nil {
			return err
		}
		for i := range out.Rows {
			out.Rows[i].Rank = q.Offset + i + 1
		}
		if q.Self == 0 {
			return nil
		}
		out.Self, err = self(ctx, tx, q.Self, first, second)
		return err
	})
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	return out, nil
}

// self returns the row of one session, or nil if there is no such session.
func self(ctx context.Context, tx *sql.Tx, id wamble.SessionID, first, second string) (*wamble.LeaderboardRow, error) {
	row, err := schema.ScanRank(tx.QueryRowContext(ctx, selectRank+`WHERE s.id = ?`, int64(id)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ahead := fmt.Sprintf(`SELECT 1
		+ (SELECT count(*) FROM sessions s WHERE s.%[1]s > me.%[1]s)
		+ (SELECT count(*) FROM sessions s WHERE s.%[1]s = me.%[1]s AND s.%[2]s > me.%[2]s)
		+ (SELECT count(*) FROM sessions s WHERE s.%[1]s = me.%[1]s AND s.%[2]s = me.%[2]s AND s.id < me.id)
		FROM sessions me WHERE me.id = ?`, first, second)
	if err := tx.QueryRowContext(ctx, ahead, int64(id)).Scan(&row.Rank); err != nil {
		return nil, err
	}
	return &row, nil
}
