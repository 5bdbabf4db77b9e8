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

// DefaultLease is how long a sign of life counts, unless the options say otherwise.
const DefaultLease = 2 * time.Second

// Options of Open.
type Options struct {
	Database postgres.Options
	// Node names this process for people.
	Node string
	// Instance tells this process from others of the name: what an earlier process of
	// it holds, this one claims at once. "" is unlike all others.
	Instance string
	// Beat is how often the database is told that this process lives, default 0.5 s.
	Beat time.Duration
	// Lease is how long that counts, default DefaultLease.
	Lease time.Duration
	// Patience bounds an append, with the wait for the synchronous standby; default 5 s.
	Patience time.Duration
	// Report hears what a host should know, and must return quickly; nil: nobody.
	Report func(error)
	// Say is what other nodes are told with each beat, if this one shares its logs with
	// them (see World): where it is reached by them, and anything else. nil: it does not
	// look at the others.
	Say func() (address, note string)
	// Noted hears of every note (see Log.Note): first of all that there are, then of those
	// that change. It must return quickly; nil: nobody does.
	Noted func(version int64, name, value string)
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

// Log is a node of logs in one database.
type Log struct {
	o    Options
	self string // name/instance

	mu      sync.Mutex
	watches map[string]*watch // by group
	shards  map[string]*sighted
	closed  bool
}

var _ logstore.Log = (*Log)(nil)

// Open returns a log. It makes no connection.
func Open(o Options) *Log {
	if o.Instance == "" {
		o.Instance = rand.Text()
	}
	return &Log{o: o.withDefaults(), self: o.Node + "/" + o.Instance, watches: map[string]*watch{}, shards: map[string]*sighted{}}
}

// Self is this node among others, also among those of its name.
func (l *Log) Self() string { return l.self }

// nameOf is the name of a node without its instance.
func nameOf(node string) string {
	if i := strings.LastIndexByte(node, '/'); i >= 0 {
		return node[:i]
	}
	return node
}

// Close ends what runs for the log. What is held should be released before.
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

// session is a connection for records: it waits for the synchronous standby, but not
// for ever. What reads or writes a whole log has another bound (see patiently).
func (l *Log) session(patience time.Duration) postgres.Session {
	return postgres.Session{Silence: l.o.Lease, Settings: map[string]string{
		"synchronous_commit": "on", "statement_timeout": ms(patience), "lock_timeout": ms(patience),
		"idle_in_transaction_session_timeout": ms(l.o.Lease),
	}}
}

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// HeldError is returned by a claim while another node holds the log.
type HeldError struct {
	Holder string // its name; "": it was released, and somebody else is to have it
}

func (e *HeldError) Error() string {
	if e.Holder == "" {
		return "the log is kept for another node"
	}
	return "the log belongs to " + e.Holder
}

// claimShard makes a node the holder if nobody is, if it is itself, or if the one who
// is was not heard for a lease, neither by the database's clock nor by that of the node
// that claims: $4. A sign of life that is later than the database's clock was given before
// that was set back: then it counts for nothing if it is still the one that this node has
// seen for a lease, $7.
const claimShard = `
UPDATE shards s SET epoch = epoch + 1, holder = $2::text, heir = '' WHERE shard = $1 AND (
	holder = $2
	OR holder = '' AND (heir IN ('', $3::text) OR released_at NOT BETWEEN clock_timestamp() - $5::interval AND clock_timestamp())
	OR holder <> '' AND $4 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.shard = $6 AND n.node = s.holder AND n.seen_at > clock_timestamp() - $5::interval
		AND NOT (n.seen_at > clock_timestamp() AND n.seen_at::text = $7::text)))
RETURNING id, epoch, seq, through, state`

// Claim implements logstore.Log. It is refused with a *HeldError while another node
// lives that holds the log.
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
		w.refused() // what it has seen is old
		c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	w.hold(held)
	return held, nil
}

func (h *held) claim(ctx context.Context) error {
	sent := bootTime()
	// Not within the claim, which may wait for the standby: beats would wait for it.
	b := &pgx.Batch{}
	b.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
	b.Queue(beatNode, h.w.watch.name, h.l.self)
	b.Queue(`DELETE FROM nodes WHERE shard = $1 AND seen_at < clock_timestamp() - interval '1 hour'`, h.w.watch.name)
	if err := h.conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, h.conn, func(tx pgx.Tx) error {
		silent, at := h.w.silent()
		err := tx.QueryRow(ctx, claimShard, h.name, h.l.self, nameOf(h.l.self), silent, h.l.o.Lease, h.w.watch.name, at).Scan(&h.id, &h.epoch, &h.seq, &h.through, &h.state)
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

// prepare finds out which partitions have records, and prepares the statements.
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
		if _, err := h.conn.Prepare(ctx, appendName(k), fmt.Sprintf(appendRecord, tableOf(h.id, k), slotOf(h.id, k))); err != nil {
			return err
		}
	}
	if err := h.conn.QueryRow(ctx, `SELECT current_setting('synchronous_standby_names')`).Scan(&h.standbys); err != nil {
		return err
	}
	if h.standbys == "" {
		h.l.o.Report(ErrNoStandby)
	}
	return nil
}

// ErrNoStandby says that the database waits for no standby.
var ErrNoStandby = errors.New("synchronous_standby_names is empty: what is acknowledged is on one machine only, unless the service replicates below PostgreSQL")

// CheckStandby returns ErrNoStandby if the database waits for no standby, or why it
// cannot be asked.
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
	return l.patiently(ctx, c, func(p *progress) error { return (&held{l: l, name: name, conn: c}).look(p, visit) })
}

// look is Look on the connection of h.
func (h *held) look(p *progress, visit func(seq uint64, record []byte) error) error {
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
	// One snapshot, and that behind the locks, for which whoever truncates waits: so the
	// row and the partitions agree while records are appended.
	return pgx.BeginTxFunc(p, h.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for k := range slots {
			p.wait(0)
			if _, err := tx.Exec(p, `LOCK TABLE `+tableOf(h.id, k)+` IN ACCESS SHARE MODE`); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(p, `SELECT seq, through, state FROM shards WHERE shard = $1`, h.name).Scan(&h.seq, &h.through, &h.state); err != nil {
			return err
		}
		return h.replay(p, visit)
	})
}
