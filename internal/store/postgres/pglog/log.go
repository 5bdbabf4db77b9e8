package pglog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble/internal/store/postgres"
	"wamble/runner/logstore"
)

// DefaultLease is the default of Options.Lease.
const DefaultLease = 2 * time.Second

// Options of Open.
type Options struct {
	Database postgres.Options
	// Node is the name of this process.
	Node string
	// Instance distinguishes processes of the same name: this process can claim at once what an
	// earlier process with the same Node and Instance holds. "" is unique.
	Instance string
	// Beat is the interval of beats; default 0.5 s.
	Beat time.Duration
	// Lease is how long a beat is valid; default DefaultLease.
	Lease time.Duration
	// Patience bounds an append, including the wait for the synchronous standby; default 5 s.
	Patience time.Duration
	// Report receives warnings for the host and must return quickly; nil discards them.
	Report func(error)
	// Heartbeat returns what every beat tells other nodes that share the logs (see ClusterView): the
	// address at which they reach this node, its public key, and a note. If it is nil, this node does
	// not read about the others.
	Heartbeat func() (address, key, note string)
	// OnNote receives every note (see Log.Note): at first all existing notes, then those that
	// change. It must return quickly. It may be nil.
	OnNote func(version int64, name, value string)
}

func (o Options) withDefaults() Options {
	if o.Beat <= 0 {
		o.Beat = 500 * time.Millisecond
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Database.ConnectTimeout == 0 {
		o.Database.ConnectTimeout = o.Lease / 2
	}
	return o
}

// Log is a node's access to the logs in one database.
type Log struct {
	o    Options
	self string // name/instance

	mu      sync.Mutex
	watches map[string]*watch // by group, see groupOf
	shards  map[string]*watchedShard
	closed  bool
}

var _ logstore.Log = (*Log)(nil)

// Open returns a log without connecting.
func Open(o Options) *Log {
	if o.Instance == "" {
		o.Instance = rand.Text()
	}
	return &Log{o: o.withDefaults(), self: o.Node + "/" + o.Instance, watches: map[string]*watch{},
		shards: map[string]*watchedShard{}}
}

// Self returns the name of this node with its instance.
func (l *Log) Self() string { return l.self }

// nameOf returns the name of a node without its instance.
func nameOf(node string) string {
	if i := strings.LastIndexByte(node, '/'); i >= 0 {
		return node[:i]
	}
	return node
}

// Close ends the watches of the log. Release all claims before: otherwise this node counts as lost.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	watches := l.watches
	l.watches = nil
	l.mu.Unlock()
	for _, w := range watches {
		w.end()
	}
}

// session returns the settings of a connection for records: it waits for the synchronous
// standby, but not forever. Work on a whole log has another bound (see patiently).
func (l *Log) session(patience time.Duration) postgres.Session {
	return postgres.Session{Silence: l.o.Lease, Settings: map[string]string{
		"synchronous_commit": "on", "statement_timeout": ms(patience), "lock_timeout": ms(patience),
		"idle_in_transaction_session_timeout": ms(l.o.Lease),
	}}
}

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// HeldError is returned by a claim while another node holds the log.
type HeldError struct {
	Holder string // its name; "" if the log was released for another node
}

func (e *HeldError) Error() string {
	if e.Holder == "" {
		return "the log is kept for another node"
	}
	return "the log belongs to " + e.Holder
}

// claimShard makes a node the holder if there is none, if it is the holder already, or if the
// holder has not beaten for a lease, by the database's clock and by the claiming node's ($4). A
// beat in the future of the database's clock does not count if the claiming node has seen it
// for a lease ($7): the clock was set back.
const claimShard = `
UPDATE shards s SET epoch = epoch + 1, holder = $2::text, heir = '' WHERE shard = $1 AND (
	holder = $2
	OR holder = '' AND (heir IN ('', $3::text) OR released_at NOT BETWEEN clock_timestamp() - $5::interval AND clock_timestamp())
	OR holder <> '' AND $4 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.shard = $6 AND n.node = s.holder AND n.seen_at > clock_timestamp() - $5::interval
		AND NOT (n.seen_at > clock_timestamp() AND n.seen_at::text = $7::text)))
RETURNING id, epoch, seq, through, state`

// Claim implements logstore.Log. It returns a *HeldError while another live node holds the log.
func (l *Log) Claim(ctx context.Context, name string, h logstore.Holder) (logstore.Held, error) {
	w, err := l.watch(name)
	if err != nil {
		return nil, err
	}
	c, err := postgres.Connect(ctx, l.o.Database, l.session(l.o.Patience))
	if err != nil {
		return nil, err
	}
	held := &held{l: l, w: w, name: name, conn: c, holder: h}
	if err = makeShard(ctx, c, name); err == nil {
		err = held.claim(ctx)
	}
	if err == nil {
		err = held.prepare(ctx)
	}
	if err != nil {
		w.refused() // its last sight is out of date
		c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	w.setClaim(held)
	return held, nil
}

func (h *held) claim(ctx context.Context) error {
	sent := bootTime()
	// Outside of the claim's transaction, which may wait for the standby: beats would wait for
	// its row lock.
	b := &pgx.Batch{}
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(beatNode, h.w.watch.name, h.l.self)
	b.Queue(forgetNodes, h.w.watch.name, h.l.o.Node)
	if err := h.conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, h.conn, func(tx pgx.Tx) error {
		silent, at := h.w.silent()
		err := tx.QueryRow(ctx, claimShard, h.name, h.l.self, nameOf(h.l.self), silent, h.l.o.Lease, h.w.watch.name,
			at).Scan(&h.id, &h.epoch, &h.seq, &h.through, &h.state)
		if errors.Is(err, pgx.ErrNoRows) {
			var holder string
			err = tx.QueryRow(ctx, `SELECT holder FROM shards WHERE shard = $1`, h.name).Scan(&holder)
			return errors.Join(&HeldError{nameOf(holder)}, err)
		}
		return err
	})
	if err == nil {
		err = postgres.Unreplicated(h.conn)
	}
	h.leased = sent + h.l.o.Lease
	return err
}

// prepare finds the partitions that have records, and prepares the statements.
func (h *held) prepare(ctx context.Context) error {
	for k := range logSlots {
		var top int64
		if err := h.conn.QueryRow(ctx, `SELECT COALESCE(max(seq), 0) FROM `+tableOf(h.id, k)).Scan(&top); err != nil {
			return err
		}
		h.tops[k] = uint64(top)
		if h.tops[k] > h.tops[h.slot] {
			h.slot = k
		}
	}
	for k := range logSlots {
		if _, err := h.conn.Prepare(ctx, appendName(k),
			fmt.Sprintf(appendRecord, tableOf(h.id, k), slotOf(h.id, k))); err != nil {
			return err
		}
	}
	if err := h.conn.QueryRow(ctx,
		`SELECT current_setting('synchronous_standby_names')`).Scan(&h.standbys); err != nil {
		return err
	}
	if h.standbys == "" {
		h.l.o.Report(ErrNoStandby)
	}
	return nil
}

// ErrNoStandby says that the database has no synchronous standby.
var ErrNoStandby = errors.New("synchronous_standby_names is empty: what is acknowledged is on one machine only, unless the service replicates below PostgreSQL")

// CheckStandby returns ErrNoStandby if the database has no synchronous standby, or the error of
// asking it.
func CheckStandby(ctx context.Context, o postgres.Options) error {
	c, err := postgres.Connect(ctx, o, postgres.Session{})
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	var names string
	if err := c.QueryRow(ctx, `SELECT current_setting('synchronous_standby_names')`).Scan(&names); err != nil {
		return err
	}
	if names == "" {
		return ErrNoStandby
	}
	return nil
}

// Look implements logstore.Log.
func (l *Log) Look(ctx context.Context, name string, visit func(seq uint64, record []byte) error) error {
	c, err := postgres.Connect(ctx, l.o.Database, l.session(l.o.Patience))
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return l.patiently(ctx, c, func(p *progress) error { return (&held{l: l, name: name, conn: c}).read(p, visit) })
}

// read is Look on the connection of h.
func (h *held) read(p *progress, visit func(seq uint64, record []byte) error) error {
	var made bool
	if err := h.conn.QueryRow(p, `SELECT to_regclass('shards') IS NOT NULL`).Scan(&made); err != nil || !made {
		return err
	}
	switch err := h.conn.QueryRow(p, `SELECT id FROM shards WHERE shard = $1`, h.name).Scan(&h.id); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	// The snapshot is taken after the locks, for which truncate waits: so the row and the
	// partitions agree while records are appended.
	return pgx.BeginTxFunc(p, h.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			for k := range slots {
				p.wait(0)
				if _, err := tx.Exec(p, `LOCK TABLE `+tableOf(h.id, k)+` IN ACCESS SHARE MODE`); err != nil {
					return err
				}
			}
			if err := tx.QueryRow(p, `SELECT seq, through, state FROM shards WHERE shard = $1`, h.name).Scan(&h.seq,
				&h.through, &h.state); err != nil {
				return err
			}
			return h.replay(p, visit)
		})
}
