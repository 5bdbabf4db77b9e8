package pglog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"wamble/runner"
)

// schemaVersion is the version of the tables that this program creates. A program of a later
// version writes into shard_schema.needs which version can use its tables: machines of two
// releases share them.
const schemaVersion = 1

// makeLock is the advisory lock for creating tables: "wambleJ".
const makeLock = 0x77616d626c654a

const makeTables = `
CREATE TABLE IF NOT EXISTS shard_schema (version INT NOT NULL, needs INT); -- needs: the least that a program must know, NULL: version
INSERT INTO shard_schema (version) SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM shard_schema);
-- A row per log. It changes with every record: the rest of its page is for that.
CREATE TABLE IF NOT EXISTS shards (
	shard       TEXT PRIMARY KEY,
	id          INT GENERATED ALWAYS AS IDENTITY,
	epoch       BIGINT NOT NULL DEFAULT 0,  -- raised by every claim
	seq         BIGINT NOT NULL DEFAULT 0,  -- the last record
	through     BIGINT NOT NULL DEFAULT 0,  -- the last record that the checkpoint stands for
	state       BIGINT NOT NULL DEFAULT 0,  -- the checkpoint, 0: none
	holder      TEXT NOT NULL DEFAULT '',   -- node, '': nobody
	heir        TEXT NOT NULL DEFAULT '',   -- who may claim first after a release, '': anybody
	released_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 10);
-- seq is the number of a record, or of a checkpoint; n that of its part.
CREATE TABLE IF NOT EXISTS shard_log (slot INT NOT NULL, seq BIGINT NOT NULL, n BIGINT NOT NULL, data BYTEA NOT NULL) PARTITION BY LIST (slot);
ALTER TABLE shard_log ALTER COLUMN data SET STORAGE PLAIN;
-- A row per process that holds a log or waits for it.
CREATE TABLE IF NOT EXISTS nodes (
	shard     TEXT NOT NULL,
	node      TEXT NOT NULL,               -- name/instance
	seen_at   TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (shard, node)
) WITH (fillfactor = 50);`

// slots is the number of partitions of a shard; the last two are for checkpoints.
const (
	logSlots   = 3
	stateSlots = 2
	slots      = logSlots + stateSlots
)

// slotOf returns the value of a shard's partition, tableOf its name.
func slotOf(id, k int) int     { return id*slots + k }
func tableOf(id, k int) string { return fmt.Sprintf("shard_log_%d_%d", id, k) }

// makeShard creates the missing tables, and the row and partitions of a shard. If they exist it
// only reads, so that a user without the CREATE privilege can play.
func makeShard(ctx context.Context, c *pgx.Conn, name string) error {
	var made bool
	if err := c.QueryRow(ctx,
		`SELECT to_regclass('nodes') IS NOT NULL AND to_regclass('shard_log') IS NOT NULL`).Scan(&made); err != nil {
		return err
	}
	if !made {
		if _, err := c.Exec(ctx, fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d); %s COMMIT", makeLock,
			makeTables)); err != nil {
			return fmt.Errorf("make the tables of the log: %w", err)
		}
	}
	var version, needs int // tables of an older program have no needs
	err := c.QueryRow(ctx, `SELECT version, coalesce((to_jsonb(s) ->> 'needs')::int, version) FROM shard_schema s`).Scan(&version, &needs)
	if err != nil {
		return err
	}
	if needs > schemaVersion {
		return fmt.Errorf("the tables of the log have version %d, which needs a program that knows %d, this one knows %d: %w", version, needs, schemaVersion, runner.ErrSchema)
	}
	if err := c.QueryRow(ctx, `SELECT count(*) = $2 FROM pg_inherits i, pg_class p, shards s WHERE s.shard = $1
		AND i.inhparent = to_regclass('shard_log') AND p.oid = i.inhrelid AND p.relname LIKE 'shard\_log\_' || s.id || '\_%'`, name, slots).Scan(&made); err != nil || made {
		return err
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", makeLock)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO shards (shard) VALUES ($1) ON CONFLICT DO NOTHING`, name); err != nil {
			return err
		}
		var id int
		if err := tx.QueryRow(ctx, `SELECT id FROM shards WHERE shard = $1`, name).Scan(&id); err != nil {
			return err
		}
		for k := range slots {
			// No index: records are ordered by number, and a start reads all of them.
			sql := fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s PARTITION OF shard_log FOR VALUES IN (%d) WITH (autovacuum_enabled = off)`, tableOf(id, k), slotOf(id, k))
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}
