package pglog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble/internal/store/postgres"
)

// Node is a live process, by the database's clock.
type Node struct {
	Name    string
	Self    bool
	Address string // address for other nodes; "" if there is none
	Key     string // public key of the process; "" if an older version runs there, or there is no address
	Note    string // its note from Options.Heartbeat
	Twins   int    // number of other live processes of this name
}

// LostNode is a node that beat in the last day, and has ended without leaving in order.
type LostNode struct {
	Name    string
	Address string
	Seen    time.Time // its last beat, by the database's clock
}

// ClusterView is what a node saw with its last beat: the live nodes, and the holders of the parts.
type ClusterView struct {
	Nodes []Node          // sorted by name; of several processes of a name the one that beat last
	Lost  []LostNode      // the last lost first
	Parts []PartitionView // the parts that were asked for
	Err   error           // error of the last beat, or nil
}

// ClusterView returns what is known of the first parts of a log, and a channel that is closed at the
// next beat. The nodes are known if Options.Heartbeat is set.
func (l *Log) ClusterView(log string, parts int) (ClusterView, <-chan struct{}) {
	var all []*watchedShard
	for k := range parts {
		s, err := l.watch(PartName(log, k))
		if err != nil {
			over := make(chan struct{})
			close(over)
			return ClusterView{Err: err}, over
		}
		all = append(all, s)
	}
	w := all[0].watch
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := ClusterView{Nodes: w.nodes, Lost: w.lost, Err: w.err}
	for _, s := range all {
		seen.Parts = append(seen.Parts, s.view)
	}
	return seen, w.beaten
}

// The tables for what nodes tell each other are separate: a single node does not need them.
const makeNodeTables = `
CREATE TABLE IF NOT EXISTS shard_nodes (
	shard   TEXT NOT NULL,
	node    TEXT NOT NULL,               -- name/instance, as in nodes
	address TEXT NOT NULL,
	note    TEXT NOT NULL,
	PRIMARY KEY (shard, node)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS shard_notes (
	shard   TEXT NOT NULL,
	name    TEXT NOT NULL,
	version BIGINT NOT NULL,             -- higher than of all that were written before
	value   TEXT NOT NULL,
	at      TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (shard, name)
);
CREATE INDEX IF NOT EXISTS shard_notes_version ON shard_notes (shard, version);
-- key is public; '' is of a node of an older version.
ALTER TABLE shard_nodes ADD COLUMN IF NOT EXISTS key TEXT NOT NULL DEFAULT '';`

func createNodeTables(ctx context.Context, c *pgx.Conn) error {
	var made bool
	if err := c.QueryRow(ctx,
		`SELECT to_regclass('shard_notes_version') IS NOT NULL AND EXISTS (SELECT 1 FROM pg_attribute
			WHERE attrelid = to_regclass('shard_nodes') AND attname = 'key' AND NOT attisdropped)`).Scan(&made); err != nil || made {
		return err
	}
	if _, err := c.Exec(ctx, fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d); %s COMMIT", makeLock,
		makeNodeTables)); err != nil {
		return fmt.Errorf("make the tables of the nodes: %w", err)
	}
	return nil
}

const sayNode = `INSERT INTO shard_nodes (shard, node, address, key, note) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (shard, node) DO UPDATE SET address = EXCLUDED.address, key = EXCLUDED.key, note = EXCLUDED.note`

// keepLost is how long a lost node is listed, and the row of its last beat is kept.
const keepLost = "1 day"

const seeNodes = `SELECT s.node, s.address, s.key, s.note, n.seen_at, n.seen_at::text, n.seen_at > clock_timestamp(), n.seen_at > clock_timestamp() - $2::interval
	FROM shard_nodes s JOIN nodes n ON n.shard = s.shard AND n.node = s.node
	WHERE s.shard = $1 AND n.seen_at > clock_timestamp() - interval '` + keepLost + `' ORDER BY n.seen_at DESC`

// ofNode is true of the rows of a node whose name is $2.
const ofNode = `regexp_replace(node, '/[^/]*$', '') = $2`

// forgetNodes deletes the rows of nodes that were lost a day ago, and those of earlier processes of a
// node that lives.
const forgetNodes = `DELETE FROM nodes WHERE shard = $1 AND (seen_at < clock_timestamp() - interval '` + keepLost + `'
	OR seen_at < clock_timestamp() - interval '1 hour' AND ` + ofNode + `)`

// leaveNode deletes the rows of a process that ends in order, which has released all shards, and those of earlier
// ones of its name, so that the node does not count as lost.
const leaveNode = `DELETE FROM nodes WHERE shard = $1 AND ` + ofNode + ` AND (node = $3 OR seen_at < clock_timestamp() - $4::interval)
	AND NOT EXISTS (SELECT 1 FROM shards s WHERE s.holder = $3)`

const seeNotes = `SELECT name, version, value FROM shard_notes WHERE shard = $1 AND version > $2 ORDER BY version`

// queueBeat queues the beat of this node.
func (w *watch) queueBeat(b *pgx.Batch) {
	b.Queue(beatNode, w.name, w.l.self)
	if w.l.o.Heartbeat != nil {
		address, key, note := w.l.o.Heartbeat()
		b.Queue(sayNode, w.name, w.l.self, address, key, note)
	}
}

// queueOthers queues the queries for the other nodes and for notes. A beat in the future of the
// database's clock, which was then set back, counts until this node has seen it for a lease.
func (w *watch) queueOthers(b *pgx.Batch, sent time.Duration) {
	w.mu.Lock()
	before, after := w.beats, w.read
	w.mu.Unlock()
	b.Queue(seeNodes, w.name, w.l.o.Lease).Query(func(rows pgx.Rows) error {
		var list []Node
		var lost []LostNode
		beats := map[string]lastBeat{}
		for rows.Next() {
			var n Node
			var full, at string
			var seen time.Time
			var future, alive bool
			if err := rows.Scan(&full, &n.Address, &n.Key, &n.Note, &seen, &at, &future, &alive); err != nil {
				return err
			}
			if !alive {
				lost = append(lost, LostNode{nameOf(full), n.Address, seen.UTC()})
				continue
			}
			last := before[full]
			last.update(full, at, 0, sent, w.l.o.Lease)
			beats[full] = last
			if future && last.silent {
				lost = append(lost, LostNode{nameOf(full), n.Address, seen.UTC()})
				continue
			}
			n.Name, n.Self = nameOf(full), full == w.l.self
			if i := slices.IndexFunc(list, func(other Node) bool { return other.Name == n.Name }); i >= 0 {
				list[i].Twins++
			} else {
				list = append(list, n)
			}
		}
		slices.SortFunc(list, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
		named := map[string]bool{}
		for i := range list {
			named[list[i].Name] = true
		}
		lost = slices.DeleteFunc(lost, func(n LostNode) bool {
			again := named[n.Name] // it lives, or its last process is in the list
			named[n.Name] = true
			return again
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.nodes, w.lost, w.beats = list, lost, beats
		return rows.Err()
	})
	b.Queue(seeNotes, w.name, after).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &after, &value); err != nil {
				return err
			}
			if w.l.o.OnNote != nil {
				w.l.o.OnNote(after, name, value)
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.read = after
		return rows.Err()
	})
}

// noteLock is the first half of the advisory lock under which a note gets its version, so that
// notes become visible in the order of their versions.
const noteLock = 0x77616d62

// Note stores a value for all nodes of a log, durably, and replaces the value under the same
// name. Every node, including this one, receives it with one of its next beats.
func (l *Log) Note(ctx context.Context, log, name, value string) error {
	return l.Amend(ctx, log, name, func(string) (string, error) { return value, nil })
}

// Amend is Note with a value that change computes from the current one, "" if there is none. No
// other write happens in between.
func (l *Log) Amend(ctx context.Context, log, name string, change func(value string) (string, error)) error {
	return l.write(ctx, log, func(tx pgx.Tx) error {
		var value string
		err := tx.QueryRow(ctx, `SELECT COALESCE((SELECT value FROM shard_notes WHERE shard = $1 AND name = $2), '')`,
			log, name).Scan(&value)
		if err == nil {
			value, err = change(value)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO shard_notes (shard, name, version, value, at)
			VALUES ($1, $2, (SELECT COALESCE(max(version), 0) + 1 FROM shard_notes WHERE shard = $1), $3, clock_timestamp())
			ON CONFLICT (shard, name) DO UPDATE SET version = EXCLUDED.version, value = EXCLUDED.value, at = EXCLUDED.at`, log, name, value)
		return err
	})
}

// Forget deletes the notes whose names begin with a prefix and that are older than age, and the
// rows of nodes that are gone. Of the newest note the row is kept, because its version is the
// highest, without its value.
func (l *Log) Forget(ctx context.Context, log, prefix string, age time.Duration) error {
	return l.write(ctx, log, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx,
			`DELETE FROM shard_nodes s WHERE shard = $1 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.shard = s.shard AND n.node = s.node)`, log); err != nil {
			return err
		}
		const old = `shard = $1 AND starts_with(name, $2) AND at < clock_timestamp() - $3::interval AND version `
		if _, err := tx.Exec(ctx,
			`DELETE FROM shard_notes WHERE `+old+`< (SELECT max(version) FROM shard_notes WHERE shard = $1)`, log,
			prefix, age); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE shard_notes SET value = '' WHERE `+old+`= (SELECT max(version) FROM shard_notes WHERE shard = $1) AND value <> ''`, log, prefix, age)
		return err
	})
}

// Notes returns all notes, by name. It does not wait for writers of notes.
func (l *Log) Notes(ctx context.Context, log string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.Patience)
	defer cancel()
	c, err := postgres.Connect(ctx, l.o.Database, l.session(l.o.Patience))
	if err != nil {
		return nil, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := createNodeTables(ctx, c); err != nil {
		return nil, err
	}
	rows, err := c.Query(ctx, seeNotes, log, 0)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, new(int64), &value}, func() error {
		all[name] = value
		return nil
	})
	return all, err
}

// write runs do in a transaction that excludes all other writers of notes.
func (l *Log) write(ctx context.Context, log string, do func(pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.Patience)
	defer cancel()
	c, err := postgres.Connect(ctx, l.o.Database, l.session(l.o.Patience))
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := createNodeTables(ctx, c); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d, hashtext($1))`, noteLock),
			log); err != nil {
			return err
		}
		return do(tx)
	})
	if err == nil {
		err = postgres.Unreplicated(c)
	}
	return err
}
