package schema

import (
	"cmp"
	"context"
	"errors"

	"wamble"
	"wamble/internal/store"
)

const selectPlayer = `SELECT p.id, p.handle, p.created_at, p.renamed_at, CAST(p.rating AS float8),
	CAST(round(coalesce(sum(s.total_score), 0), 4) AS float8), CAST(round(coalesce(sum(s.total_prediction_score), 0), 4) AS float8),
	coalesce(sum(s.games_played), 0), coalesce(sum(s.chess960_games_played), 0)
	FROM players p LEFT JOIN sessions s ON s.player_id = p.id `

// Player implements store.Queries.
func (q *Queries) Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error) {
	out, err := readOne(ctx, q, "read player", Ask{Text: selectPlayer + `WHERE p.public_key = $1 GROUP BY p.id`,
		Args: []any{key[:]}}, scanPlayer)
	if errors.Is(err, store.ErrNotFound) {
		into, err := readOne(ctx, q, "read merged key", Ask{
			Text: `SELECT p.public_key FROM merged_keys k JOIN players p ON p.id = k.player_id WHERE k.public_key = $1`,
			Args: []any{key[:]}}, scanKey)
		if err != nil || into == key {
			return wamble.Player{}, cmp.Or(err, store.ErrNotFound)
		}
		return q.Player(ctx, into)
	}
	if err != nil {
		return wamble.Player{}, err
	}
	out.Key = key
	return out, nil
}
