package pglog

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/guard"
	"wamble/internal/store/postgres"
	"wamble/runner"
	"wamble/runner/logstore"
)

// Sight is what a node knows of a shard since its last beat.
type Sight struct {
	Holder  string        // the name of the node that holds it; "": nobody
	Self    bool          // it is this node
	Heir    string        // while nobody holds it: who may claim first; "": anybody
	Free    bool          // a claim would not be refused
	Silence time.Duration // how long the holder was not heard, by the database's clock
	Err     error         // why the last beat failed; nil: it did not
}

// watch is the goroutine that tells the database every beat that this node lives, and
// hears who else does: one for a shard and its parts.
type watch struct {
	l     *Log
	name  string // of the first part
	stop  context.CancelFunc
	done  chan struct{}
	hurry chan struct{} // the next beat is not waited for

	mu     sync.Mutex
	shards []*sighted // those that were asked for
	nodes  []Node
	beats  map[string]lastBeat // of nodes, by their whole names
	err    error
	read   int64         // the version of the last note that was read
	beaten chan struct{} // closed at the next beat
}

// sighted is a shard that a watch looks at.
type sighted struct {
	*watch
	name   string
	leased atomic.Int64 // until when, by bootTime; 0: nothing is held

	// guarded by watch.mu:
	held  *held
	last  lastBeat
	sight Sight
}

// lastBeat is a node's last beat, as this node has seen it on a connection that
// holds since then. The database's clock may be set, and the database may move: only
// what does not change for a lease while this node looks is silence.
type lastBeat struct {
	of, at string        // whose, and when by the database's clock
	epoch  int64         // of a holder's claim
	seen   time.Duration // when this node saw it first, by bootTime; 0: it is not connected
	silent bool          // it looked again a lease later, and saw no other
}

// look takes what a query has read that was sent at sent.
func (b *lastBeat) look(of, at string, epoch int64, sent, lease time.Duration) {
	if b.seen == 0 || b.of != of || b.at != at || b.epoch != epoch {
		*b = lastBeat{of: of, at: at, epoch: epoch, seen: bootTime()}
		return
	}
	b.silent = sent-b.seen >= lease // what the database says may have come late
}

var errClosed = errors.New("the log is closed")

// groupOf is the name of the first part: part k of a log has "/k" behind that.
func groupOf(name string) string {
	group, _, _ := strings.Cut(name, "/")
	return group
}

// PartName is the name of a part of a log: the first bears that of the log.
func PartName(log string, part int) string {
	if part == 0 {
		return log
	}
	return log + "/" + strconv.Itoa(part)
}

// watch returns what is seen of a shard. Its watch is started by the first call.
func (l *Log) watch(name string) (*sighted, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if s := l.shards[name]; s != nil {
		return s, nil
	}
	w := l.watchOf(groupOf(name))
	s := &sighted{watch: w, name: name}
	l.shards[name] = s
	w.mu.Lock()
	w.shards = append(w.shards, s)
	w.mu.Unlock()
	return s, nil
}

// watchOf returns the watch of a group, under l.mu.
func (l *Log) watchOf(group string) *watch {
	w := l.watches[group]
	if w == nil {
		var ctx context.Context
		w = &watch{l: l, name: group, done: make(chan struct{}), hurry: make(chan struct{}, 1), beaten: make(chan struct{})}
		ctx, w.stop = context.WithCancel(context.Background())
		l.watches[group] = w
		go w.run(ctx)
	}
	return w
}

func (w *watch) end() {
	w.stop()
	<-w.done
}

// hold makes h what the beats are for.
func (w *sighted) hold(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = h
	w.leased.Store(int64(h.leased))
}

// refused makes Await wait for the next beat.
func (w *sighted) refused() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sight.Free = false
}

func (w *sighted) letGo(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == h {
		w.held = nil
		w.leased.Store(0)
	}
}

// silent reports whether the holder was not heard for a lease while this node was
// connected, so that whoever lives has had the time to be heard again after the
// database itself moved or was started anew; and when by the database's clock it was
// heard last.
func (w *sighted) silent() (silent bool, at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.silent, w.last.at
}

// Holds reports whether this node holds a shard and its lease has not run out. What is
// sent to players is asked here first: a machine that was stopped for a while may have
// lost the shard without knowing.
func (l *Log) Holds(name string) bool {
	l.mu.Lock()
	w := l.shards[name]
	l.mu.Unlock()
	return w != nil && int64(bootTime()) < w.leased.Load()
}

// Sight returns what is known of a shard.
func (l *Log) Sight(name string) Sight {
	w, err := l.watch(name)
	if err != nil {
		return Sight{Err: err}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sight
}

// LacksTables reports whether a beat came before anybody had made the tables, which passes:
// undefined_table.
func LacksTables(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "42P01"
}

// Await waits until a claim of a shard would not be refused, by what was seen last, or
// ctx ends. It tells what it sees after each beat; nil: nobody. Errors: that of ctx,
// runner.ErrSchema if the tables are those of a newer program, or *store.Unusable if the
// database could never be asked and somebody must mend that.
func (l *Log) Await(ctx context.Context, name string, tell func(Sight)) error {
	w, err := l.watch(name)
	if err != nil {
		return err
	}
	for asked := false; ; {
		w.mu.Lock()
		beaten, sight := w.beaten, w.sight
		w.mu.Unlock()
		asked = asked || sight.Holder != ""
		if wrong := postgres.Unusable(sight.Err); wrong != nil && !asked && !LacksTables(sight.Err) {
			return wrong
		}
		if tell != nil {
			tell(sight)
		}
		if sight.Free {
			return nil
		}
		if errors.Is(sight.Err, runner.ErrSchema) {
			return sight.Err // it lasts
		}
		select {
		case <-beaten:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.done:
			return errClosed
		}
	}
}

// Hasten lets the next beat for a shard and its parts come at once: somebody has said that
// there is something new.
func (l *Log) Hasten(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.watches[groupOf(name)]; w != nil {
		select {
		case w.hurry <- struct{}{}:
		default:
		}
	}
}

// run beats until it is stopped, and ends a claim whose lease has run out.
func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	conn := &beatConn{}
	defer conn.close()
	for ctx.Err() == nil {
		began := bootTime()
		err := guard.Call("a beat", func() error { return w.beat(ctx, conn) })
		if err != nil {
			conn.close()
		}
		w.note(err)
		pause := w.untilNext(began)
		if err != nil {
			pause = w.l.o.Beat / 5
		}
		select {
		case <-time.After(max(pause, time.Millisecond)):
		case <-w.hurry:
		case <-ctx.Done():
		}
	}
}

// untilNext is how long to wait after a beat: until the next one, or until the lease of
// a holder is over.
func (w *watch) untilNext(began time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	pause := w.l.o.Beat - (bootTime() - began)
	for _, s := range w.shards {
		if over := s.last.seen + w.l.o.Lease - bootTime(); s.last.seen > 0 && over > 0 {
			pause = min(pause, over)
		}
	}
	return pause
}

func closeConn(c *pgx.Conn) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx)
}

const beatNode = `INSERT INTO nodes (shard, node, seen_at) VALUES ($1, $2, clock_timestamp())
	ON CONFLICT (shard, node) DO UPDATE SET seen_at = EXCLUDED.seen_at`

const seeShard = `SELECT s.holder, s.epoch, s.heir, s.released_at NOT BETWEEN clock_timestamp() - $2::interval AND clock_timestamp(),
	COALESCE(extract(epoch FROM clock_timestamp() - h.seen_at), 1e6)::float8, COALESCE(h.seen_at::text, '')
	FROM shards s LEFT JOIN nodes h ON h.shard = $3 AND h.node = s.holder WHERE s.shard = $1`

// beat tells the database that this node lives, and looks at the shards. A beat need
// not be on a standby: after a failover everybody is given a lease of time.
func (w *watch) beat(ctx context.Context, conn *beatConn) error {
	o := &w.l.o
	ctx, cancel := context.WithTimeout(ctx, o.Lease/2)
	defer cancel()
	w.mu.Lock()
	shards := slices.Clone(w.shards)
	w.mu.Unlock()
	if err := conn.open(ctx, o, w, shards); err != nil {
		return err
	}
	sent := bootTime()
	b := &pgx.Batch{}
	w.queueBeat(b)
	for _, s := range shards {
		b.Queue(seeShard, s.name, o.Lease, w.name).QueryRow(func(row pgx.Row) error { return s.see(row, sent) })
	}
	if o.Say != nil {
		w.queueOthers(b, sent)
	}
	return conn.SendBatch(ctx, b).Close()
}

// beatConn is the connection of a watch.
type beatConn struct {
	*pgx.Conn
	made int // the first so many shards of the watch have their rows
}

// open connects, and makes the shards that were not there.
func (c *beatConn) open(ctx context.Context, o *Options, w *watch, shards []*sighted) error {
	if c.Conn == nil {
		conn, err := postgres.Connect(ctx, o.Database, postgres.Session{Silence: o.Lease, Settings: map[string]string{
			"synchronous_commit": "off", "statement_timeout": ms(o.Lease), "lock_timeout": ms(o.Lease),
		}})
		if err != nil {
			return err
		}
		c.Conn, c.made = conn, 0
		if o.Say != nil {
			if err := makeWorld(ctx, conn); err != nil {
				return err
			}
		}
	}
	for ; c.made < len(shards); c.made++ {
		if err := makeShard(ctx, c.Conn, shards[c.made].name); err != nil {
			return err
		}
	}
	return nil
}

func (c *beatConn) close() {
	closeConn(c.Conn)
	c.Conn = nil
}

// see takes what a beat has read.
func (w *sighted) see(row pgx.Row, sent time.Duration) error {
	var s Sight
	var holder, heir, at string
	var epoch int64
	var overdue bool
	var silence float64
	if err := row.Scan(&holder, &epoch, &heir, &overdue, &silence, &at); err != nil {
		return err
	}
	s.Holder, s.Self = nameOf(holder), holder == w.l.self
	s.Silence = time.Duration(silence * float64(time.Second))
	if holder == "" && !overdue {
		s.Heir = heir
	}
	w.mu.Lock()
	w.last.look(holder, at, epoch, sent, w.l.o.Lease)
	s.Free = s.Self || holder == "" && (s.Heir == "" || s.Heir == nameOf(w.l.self)) ||
		holder != "" && (s.Silence >= w.l.o.Lease || s.Silence < 0) && w.last.silent // below 0: the database's clock was set back
	w.sight = s
	h := w.held
	if h != nil && h.epoch == epoch {
		w.leased.Store(max(w.leased.Load(), int64(sent+w.l.o.Lease)))
		h = nil
	}
	w.mu.Unlock()
	if h != nil && h.epoch < epoch {
		h.lose(logstore.ErrFenced)
	}
	return nil
}

// note ends a beat.
func (w *watch) note(err error) {
	w.mu.Lock()
	var over []*held
	for _, s := range w.shards {
		s.sight.Err = err
		if err != nil {
			s.sight.Free, s.last = false, lastBeat{}
		}
		if s.held != nil && int64(bootTime()) >= s.leased.Load() {
			over = append(over, s.held)
		}
	}
	if err != nil {
		w.beats = nil
	}
	w.err = err
	close(w.beaten)
	w.beaten = make(chan struct{})
	w.mu.Unlock()
	for _, h := range over {
		h.lose(ErrLease)
	}
}

// ErrLease says that the database was not told for a lease that this node lives:
// another node may have claimed what it held.
var ErrLease = errors.New("the lease of this node has run out")
