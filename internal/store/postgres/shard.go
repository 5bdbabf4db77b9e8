package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// moveBoards moves boards to other shards. A board with a later move stays where it is.
func moveBoards(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, versions, to := make([]int64, n), make([]int64, n), make([]int32, n)
	for i, in := range schema.As[*intent.MoveBoard](run) {
		ids[i], versions[i], to[i] = int64(in.Board), int64(in.Version), int32(in.To)
	}
	return []statement{{rows: -1, args: []any{ids, versions, to}, sql: `
		WITH sent AS (SELECT DISTINCT ON (id) * FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS v(id, version, target) ORDER BY id, version DESC),
		moved AS (UPDATE boards b SET shard = v.target, shard_version = v.version FROM sent v
			WHERE b.id = v.id AND b.shard_version < v.version RETURNING b.id, b.profile, b.shard, b.shard_version)
		INSERT INTO arrivals (board_id, profile, shard, version) SELECT id, profile, shard, shard_version FROM moved
		ON CONFLICT (board_id) DO UPDATE SET shard = excluded.shard, version = excluded.version`}}
}

func arriveBoards(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, shards, versions := make([]int64, n), make([]int32, n), make([]int64, n)
	for i, in := range schema.As[*intent.ArriveBoard](run) {
		ids[i], shards[i], versions[i] = int64(in.Board), int32(in.Shard), int64(in.Version)
	}
	return []statement{{rows: -1, args: []any{ids, shards, versions}, sql: `
		DELETE FROM arrivals a USING unnest($1::bigint[], $2::int[], $3::bigint[]) AS v(id, shard, version)
		WHERE a.board_id = v.id AND a.shard = v.shard AND a.version <= v.version`}}
}

// SetShards implements store.Store.
func (s *Store) SetShards(ctx context.Context, profile string, n int) error {
	all := []statement{
		{rows: -1, args: []any{profile, n}, sql: `INSERT INTO worlds (profile, shards) VALUES ($1, $2) ON CONFLICT (profile) DO UPDATE SET shards = excluded.shards`},
		{rows: -1, args: []any{profile}, sql: `DELETE FROM reservations WHERE board_id IN (SELECT id FROM boards WHERE profile = $1 AND status = 'RESERVED')`},
		{rows: -1, args: []any{profile}, sql: `UPDATE boards SET status = 'DORMANT', version = version + 1 WHERE profile = $1 AND status = 'RESERVED'`},
		{rows: -1, args: []any{profile, n}, sql: `UPDATE boards SET shard = shard & ($2::int - 1) WHERE profile = $1 AND shard >= $2::int`},
		{rows: -1, args: []any{profile}, sql: `DELETE FROM arrivals WHERE profile = $1`},
	}
	err := s.transact(ctx, func(conn *pgxpool.Conn) error {
		if err := s.execute(ctx, conn, s.begin(), all); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "COMMIT")
		return err
	})
	return classify(ctx, "set shards", err)
}
