package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/store/schema"
)

const selectRank = `SELECT s.id, p.public_key, ifnull(p.handle, ''), s.total_score, s.total_prediction_score, s.rating, s.games_played, s.chess960_games_played
	FROM sessions s LEFT JOIN players p ON p.id = s.player_id `

// Leaderboard implements store.Queries. Both orders are indexes, so a page
// costs its offset and a rank costs the rows before it, never a sort.
func (s *Store) Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	if q.Limit < 1 || q.Limit > 16 || q.Offset < 0 {
		return wamble.Leaderboard{}, schema.Badf("read leaderboard: %d rows from %d; 1 to 16 rows are a page", q.Limit, q.Offset)
	}
	first, second := "total_score", "rating"
	if q.ByRating {
		first, second = second, first
	}
	var out wamble.Leaderboard
	err := s.read(ctx, "read leaderboard", func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sessions`).Scan(&out.Total); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, fmt.Sprintf(selectRank+`ORDER BY s.%s DESC, s.%s DESC, s.id LIMIT ? OFFSET ?`, first, second), q.Limit, q.Offset)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			row := wamble.LeaderboardRow{Rank: q.Offset + len(out.Rows) + 1}
			if err := scanRank(rows, &row); err != nil {
				return err
			}
			out.Rows = append(out.Rows, row)
		}
		if err := rows.Err(); err != nil || q.Self == 0 {
			return err
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
	var row wamble.LeaderboardRow
	err := scanRank(tx.QueryRowContext(ctx, selectRank+`WHERE s.id = ?`, int64(id)), &row)
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

func scanRank(row interface{ Scan(...any) error }, into *wamble.LeaderboardRow) error {
	var key []byte
	st := &into.Stats
	err := row.Scan(&into.Session, &key, &into.Handle, &st.Score, &st.PredictionScore, &st.Rating, &st.Games, &st.Chess960Games)
	copy(into.Key[:], key)
	return err
}
