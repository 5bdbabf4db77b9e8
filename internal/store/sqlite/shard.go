package sqlite

import (
	"context"

	"wamble/internal/intent"
)

// moveBoards moves boards to other shards. A board with a later move stays where it is.
func (t *tx) moveBoards(run []intent.Intent) error {
	return forEach(run, func(in *intent.MoveBoard) error {
		n, err := t.exec(`UPDATE boards SET shard = ?1, shard_version = ?2 WHERE id = ?3 AND shard_version < ?2`, in.To,
			int64(in.Version), int64(in.Board))
		if err == nil && n == 1 {
			err = t.do(`INSERT INTO arrivals (board_id, profile, shard, version) SELECT id, profile, shard, shard_version FROM boards WHERE id = ?
				ON CONFLICT (board_id) DO UPDATE SET shard = excluded.shard, version = excluded.version`, int64(in.Board))
		}
		return err
	})
}

func (t *tx) arriveBoards(run []intent.Intent) error {
	return forEach(run, func(in *intent.ArriveBoard) error {
		return t.do(`DELETE FROM arrivals WHERE board_id = ? AND shard = ? AND version <= ?`, int64(in.Board),
			in.Shard, int64(in.Version))
	})
}

// SetShards implements store.Store.
func (s *Store) SetShards(ctx context.Context, profile string, n int) error {
	err := s.writer.transact(ctx, func(t *tx) error {
		err := t.do(`INSERT INTO worlds (profile, shards) VALUES (?, ?) ON CONFLICT (profile) DO UPDATE SET shards = excluded.shards`, profile, n)
		if err != nil {
			return err
		}
		err = t.do(`UPDATE boards SET shard = shard & (?1 - 1) WHERE profile = ?2 AND shard >= ?1`, n, profile)
		if err != nil {
			return err
		}
		return t.doAll([]any{profile},
			`DELETE FROM reservations WHERE board_id IN (SELECT id FROM boards WHERE profile = ?1 AND status = 'RESERVED')`,
			`UPDATE boards SET status = 'DORMANT', version = version + 1 WHERE profile = ?1 AND status = 'RESERVED'`,
			`DELETE FROM arrivals WHERE profile = ?1`)
	})
	return classify(ctx, "set shards", err)
}
