package sqlite

import (
	"context"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// moveBoards moves boards to other shards. A board with a later move stays where it is.
func (t *tx) moveBoards(run []intent.Intent) error {
	for _, in := range schema.As[*intent.MoveBoard](run) {
		n, err := t.exec(`UPDATE boards SET shard = ?1, shard_version = ?2 WHERE id = ?3 AND shard_version < ?2`, in.To,
			int64(in.Version), int64(in.Board))
		if err == nil && n == 1 {
			_, err = t.exec(`INSERT INTO arrivals (board_id, profile, shard, version) SELECT id, profile, shard, shard_version FROM boards WHERE id = ?
				ON CONFLICT (board_id) DO UPDATE SET shard = excluded.shard, version = excluded.version`, int64(in.Board))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) arriveBoards(run []intent.Intent) error {
	for _, in := range schema.As[*intent.ArriveBoard](run) {
		if _, err := t.exec(`DELETE FROM arrivals WHERE board_id = ? AND shard = ? AND version <= ?`, int64(in.Board),
			in.Shard, int64(in.Version)); err != nil {
			return err
		}
	}
	return nil
}

// SetShards implements store.Store.
func (s *Store) SetShards(ctx context.Context, profile string, n int) error {
	err := s.writer.transact(ctx, func(t *tx) error {
		for _, q := range []struct {
			text string
			args []any
		}{
			{`INSERT INTO worlds (profile, shards) VALUES (?, ?) ON CONFLICT (profile) DO UPDATE SET shards = excluded.shards`, []any{profile, n}},
			{`DELETE FROM reservations WHERE board_id IN (SELECT id FROM boards WHERE profile = ? AND status = 'RESERVED')`, []any{profile}},
			{`UPDATE boards SET status = 'DORMANT', version = version + 1 WHERE profile = ? AND status = 'RESERVED'`, []any{profile}},
			{`UPDATE boards SET shard = shard & (? - 1) WHERE profile = ? AND shard >= ?`, []any{n, profile, n}},
			{`DELETE FROM arrivals WHERE profile = ?`, []any{profile}},
		} {
			if _, err := t.exec(q.text, q.args...); err != nil {
				return err
			}
		}
		return nil
	})
	return classify(ctx, "set shards", err)
}
