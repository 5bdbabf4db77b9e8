package pglog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble/internal/guard"
	"wamble/internal/store/postgres"
	"wamble/runner/logstore"
)

// Sight is what a node knows of a shard since its last beat.
type Sight struct {
	Holder  string        // the name of the node that holds it; "": nobody
	Self    bool          // it is this node
	Silence time.Duration // how long the holder was not heard, by the database's clock
	Err     error         // why the last beat failed; nil: it did not
}

// watch is the goroutine that tells the database every beat that this node lives, and
// hears who else does.
type watch struct {
	l      *Log
	name   string
	stop   context.CancelFunc
	done   chan struct{}
	leased atomic.Int64 // until when, by bootTime; 0: nothing is held

	mu     sync.Mutex
	held   *held
	last   lastBeat
	sight  Sight
	free   bool          // a claim would not be refused
	beaten chan struct{} // closed at the next beat
}

// lastBeat is the holder's last beat, as this node has seen it on a connection that
// holds since then. The database's clock may be set, and the database may move: only
// what does not change for a lease while this node looks is silence.
type lastBeat struct {
	of, at string        // the holder, and when by the database's clock
	epoch  int64         // of its claim
	seen   time.Duration // when this node saw it first, by bootTime; 0: it is not connected
	silent bool          // it looked again a lease later, and saw no other
}

var errClosed = errors.New("the log is closed")

// watch returns the watch of a shard, which it starts at the first call.
func (l *Log) watch(name string) (*watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	w := l.watches[name]
	if w == nil {
		var ctx context.Context
		w = &watch{l: l, name: name, done: make(chan struct{}), beaten: make(chan struct{})}
		ctx, w.stop = context.WithCancel(context.Background())
		l.watches[name] = w
		go w.run(ctx)
	}
	return w, nil
}

func (w *watch) end() {
	w.stop()
	<-w.done
}

// hold makes h what the beats are for.
func (w *watch) hold(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = h
	w.leased.Store(int64(h.leased))
}

// refused makes Await wait for the next beat.
func (w *watch) refused() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = false
}

func (w *watch) letGo(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == h {
		w.held = nil
		w.leased.Store(0)
	}
}

// silent reports whether the holder was not heard for a lease while this node was
// connected, so that whoever lives has had the time to be heard again after the
// database itself moved or was started anew.
func (w *watch) silent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.silent
}

// Holds reports whether this node holds a shard and its lease has not run out. What is
// sent to players is asked here first: a machine that was stopped for a while may have
// lost the shard without knowing.
func (l *Log) Holds(name string) bool {
	l.mu.Lock()
	w := l.watches[name]
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

// Await waits until a claim of a shard would not be refused, by what was seen last, or
// ctx ends. It tells what it sees after each beat; nil: nobody.
func (l *Log) Await(ctx context.Context, name string, tell func(Sight)) error {
	w, err := l.watch(name)
	if err != nil {
		return err
	}
	for {
		w.mu.Lock()
		free, beaten, sight := w.free, w.beaten, w.sight
		w.mu.Unlock()
		if tell != nil {
			tell(sight)
		}
		if free {
			return nil
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

// run beats until it is stopped, and ends a claim whose lease has run out.
func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	var conn *pgx.Conn
	defer func() { closeConn(conn) }()
	for ctx.Err() == nil {
		began := bootTime()
		err := guard.Call("a beat", func() error { return w.beat(ctx, &conn) })
		if err != nil {
			closeConn(conn)
			conn = nil
		}
		w.note(err)
		pause := w.untilNext(began)
		if err != nil {
			pause = w.l.o.Beat / 5
		}
		select {
		case <-time.After(max(pause, time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

// untilNext is how long to wait after a beat: until the next one, or until the holder's
// lease is over.
func (w *watch) untilNext(began time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	pause := w.l.o.Beat - (bootTime() - began)
	if over := w.last.seen + w.l.o.Lease - bootTime(); w.last.seen > 0 && over > 0 {
		pause = min(pause, over)
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

const seeShard = `SELECT s.holder, s.epoch, s.heir, s.released_at < clock_timestamp() - $2::interval,
	COALESCE(extract(epoch FROM clock_timestamp() - h.seen_at), 1e6)::float8, COALESCE(h.seen_at::text, '')
	FROM shards s LEFT JOIN nodes h ON h.shard = s.shard AND h.node = s.holder WHERE s.shard = $1`

// beat tells the database that this node lives, and looks at the shard. A beat need
// not be on a standby: after a failover everybody is given a lease of time.
func (w *watch) beat(ctx context.Context, conn **pgx.Conn) error {
	o := &w.l.o
	ctx, cancel := context.WithTimeout(ctx, o.Lease/2)
	defer cancel()
	if *conn == nil {
		c, err := postgres.Connect(ctx, o.Database, postgres.Session{Silence: o.Lease, Settings: map[string]string{
			"synchronous_commit": "off", "statement_timeout": ms(o.Lease), "lock_timeout": ms(o.Lease),
		}})
		if err != nil {
			return err
		}
		*conn = c
		if err := makeShard(ctx, c, w.name); err != nil {
			return err
		}
	}
	sent := bootTime()
	b := &pgx.Batch{}
	b.Queue(beatNode, w.name, w.l.self)
	b.Queue(seeShard, w.name, o.Lease).QueryRow(func(row pgx.Row) error { return w.see(row, sent) })
	return (*conn).SendBatch(ctx, b).Close()
}

// see takes what a beat has read.
func (w *watch) see(row pgx.Row, sent time.Duration) error {
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
	w.mu.Lock()
	w.sight = s
	if b := &w.last; b.seen == 0 || b.of != holder || b.at != at || b.epoch != epoch {
		*b = lastBeat{of: holder, at: at, epoch: epoch, seen: bootTime()}
	} else {
		b.silent = sent-b.seen >= w.l.o.Lease // what the database says may have come late
	}
	w.free = s.Self || holder == "" && (heir == "" || heir == nameOf(w.l.self) || overdue) ||
		holder != "" && s.Silence >= w.l.o.Lease && w.last.silent
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
	w.sight.Err = err
	if err != nil {
		w.free, w.last = false, lastBeat{}
	}
	h := w.held
	over := h != nil && int64(bootTime()) >= w.leased.Load()
	close(w.beaten)
	w.beaten = make(chan struct{})
	w.mu.Unlock()
	if over {
		h.lose(ErrLease)
	}
}

// ErrLease says that the database was not told for a lease that this node lives:
// another node may have claimed what it held.
var ErrLease = errors.New("the lease of this node has run out")
