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

// PartitionView is what a node knows of a shard since its last beat.
type PartitionView struct {
	Holder    string        // name of the node that holds it; "" if none does
	Self      bool          // this node holds it
	Successor string        // node that may claim first while there is no holder; "" if any may
	Free      bool          // a claim would succeed
	Silence   time.Duration // time since the holder's last beat, by the database's clock
	Err       error         // error of the last beat, or nil
}

// watch is the goroutine that writes the beats of this node for a log and its parts, and reads
// those of other nodes.
type watch struct {
	l       *Log
	name    string // name of the first part
	stop    context.CancelFunc
	done    chan struct{}
	beatNow chan struct{} // makes the next beat come at once

	mu     sync.Mutex
	shards []*watchedShard // shards that were asked for
	nodes  []Node
	lost   []LostNode
	beats  map[string]lastBeat // of other nodes, by their whole names
	err    error
	read   int64         // version of the last note that was read
	beaten chan struct{} // closed at the next beat
}

// watchedShard is a shard that a watch observes.
type watchedShard struct {
	*watch
	name   string
	leased atomic.Int64 // end of the lease, by bootTime; 0 if this node does not hold the shard

	// watch.mu guards the fields below.
	held *held
	last lastBeat
	view PartitionView
}

// lastBeat is a node's last beat, as seen by this node on a connection that has lasted since.
// The database's clock may be set, and the database may move: silence means that nothing has
// changed for a lease while this node was watching.
type lastBeat struct {
	of, at string        // name of the node, and time of the beat by the database's clock
	epoch  int64         // epoch of the holder's claim
	seen   time.Duration // when this node saw it first, by bootTime; 0 if not connected
	silent bool          // a query sent a lease later saw no newer beat
}

// update applies the result of a query that was sent at the time sent.
func (b *lastBeat) update(of, at string, epoch int64, sent, lease time.Duration) {
	if b.seen == 0 || b.of != of || b.at != at || b.epoch != epoch {
		*b = lastBeat{of: of, at: at, epoch: epoch, seen: bootTime()}
		return
	}
	b.silent = sent-b.seen >= lease // the answer may be delayed: count from when the query was sent
}

var errClosed = errors.New("the log is closed")

// groupOf returns the name of the first part: part k of a log has the suffix "/k".
func groupOf(name string) string {
	group, _, _ := strings.Cut(name, "/")
	return group
}

// PartName returns the name of a part of a log; part 0 has the name of the log.
func PartName(log string, part int) string {
	if part == 0 {
		return log
	}
	return log + "/" + strconv.Itoa(part)
}

// watch returns the observed shard. The first call for a group starts its watch.
func (l *Log) watch(name string) (*watchedShard, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if s := l.shards[name]; s != nil {
		return s, nil
	}
	w := l.watchOf(groupOf(name))
	s := &watchedShard{watch: w, name: name}
	l.shards[name] = s
	w.mu.Lock()
	w.shards = append(w.shards, s)
	w.mu.Unlock()
	return s, nil
}

// watchOf returns the watch of a group; l.mu must be locked.
func (l *Log) watchOf(group string) *watch {
	w := l.watches[group]
	if w == nil {
		var ctx context.Context
		w = &watch{l: l, name: group, done: make(chan struct{}), beatNow: make(chan struct{}, 1),
			beaten: make(chan struct{})}
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

// setClaim makes h the claim that the beats renew.
func (w *watchedShard) setClaim(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = h
	w.leased.Store(int64(h.leased))
}

// refused makes Await wait for the next beat.
func (w *watchedShard) refused() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view.Free = false
}

func (w *watchedShard) letGo(h *held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == h {
		w.held = nil
		w.leased.Store(0)
	}
}

// silent reports whether the holder has not beaten for a lease while this node was connected,
// so that a live holder had time to beat after the database moved or restarted; at is its last
// beat by the database's clock.
func (w *watchedShard) silent() (silent bool, at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.silent, w.last.at
}

// Holds reports whether this node holds a shard and its lease has not ended. It is checked
// before anything is sent to players: a machine that was suspended may have lost the shard
// without noticing.
func (l *Log) Holds(name string) bool {
	l.mu.Lock()
	w := l.shards[name]
	l.mu.Unlock()
	return w != nil && int64(bootTime()) < w.leased.Load()
}

// PartitionView returns what is known of a shard.
func (l *Log) PartitionView(name string) PartitionView {
	w, err := l.watch(name)
	if err != nil {
		return PartitionView{Err: err}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

// LacksTables reports whether a beat failed because the tables do not exist yet, which passes:
// undefined_table.
func LacksTables(err error) bool {
	var db *pgconn.PgError
	return errors.As(err, &db) && db.Code == "42P01"
}

// Await waits until a claim of a shard would succeed, according to the last beat, or ctx ends.
// It calls tell, which may be nil, after each beat. Errors: that of ctx, runner.ErrSchema if
// the tables are those of a newer program, or *store.Unusable if the database could not be
// asked even once and needs intervention.
func (l *Log) Await(ctx context.Context, name string, tell func(PartitionView)) error {
	w, err := l.watch(name)
	if err != nil {
		return err
	}
	for asked := false; ; {
		w.mu.Lock()
		beaten, sight := w.beaten, w.view
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
			return sight.Err // permanent
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

// Hasten makes the next beat for a log come at once, because there are news.
func (l *Log) Hasten(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.watches[groupOf(name)]; w != nil {
		select {
		case w.beatNow <- struct{}{}:
		default:
		}
	}
}

// run beats until it is stopped, and ends claims whose lease has ended.
func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	conn := &beatConn{}
	defer conn.close()
	said := false // the database knows of this process
	defer func() {
		if said {
			w.leave(conn)
		}
	}()
	for ctx.Err() == nil {
		began := bootTime()
		err := guard.Call("a beat", func() error { return w.beat(ctx, conn) })
		if err != nil {
			conn.close()
		}
		said = said || err == nil
		w.note(err)
		pause := w.untilNext(began)
		if err != nil {
			pause = w.l.o.Beat / 5
		}
		select {
		case <-time.After(max(pause, time.Millisecond)):
		case <-w.beatNow:
		case <-ctx.Done():
		}
	}
}

// leave says in the database that this process ends in order, unless it still holds a shard there. If the database
// does not answer at once, the node will count as lost.
func (w *watch) leave(conn *beatConn) {
	ctx, cancel := context.WithTimeout(context.Background(), w.l.o.Beat)
	defer cancel()
	if conn.open(ctx, &w.l.o, w, nil) == nil { // the end may have interrupted a beat, and closed the connection
		_, _ = conn.Exec(ctx, leaveNode, w.name, w.l.o.Node, w.l.self, w.l.o.Lease)
	}
}

// untilNext returns how long to wait after a beat: until the next one, or until the lease of a
// holder ends.
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

// beat writes a beat of this node and reads the state of the shards. A beat need not reach a
// standby: after a failover every node gets a lease of time.
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
	if o.Heartbeat != nil {
		w.queueOthers(b, sent)
	}
	return conn.SendBatch(ctx, b).Close()
}

// beatConn is the connection of a watch.
type beatConn struct {
	*pgx.Conn
	made int // number of shards, from the first, whose rows exist
}

// open connects, and creates missing shards.
func (c *beatConn) open(ctx context.Context, o *Options, w *watch, shards []*watchedShard) error {
	if c.Conn == nil {
		conn, err := postgres.Connect(ctx, o.Database, postgres.Session{Silence: o.Lease, Settings: map[string]string{
			"synchronous_commit": "off", "statement_timeout": ms(o.Lease), "lock_timeout": ms(o.Lease),
		}})
		if err != nil {
			return err
		}
		c.Conn, c.made = conn, 0
		if o.Heartbeat != nil {
			if err := createNodeTables(ctx, conn); err != nil {
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

// see applies the result of a beat.
func (w *watchedShard) see(row pgx.Row, sent time.Duration) error {
	var s PartitionView
	var holder, successor, at string
	var epoch int64
	var overdue bool
	var silence float64
	if err := row.Scan(&holder, &epoch, &successor, &overdue, &silence, &at); err != nil {
		return err
	}
	s.Holder, s.Self = nameOf(holder), holder == w.l.self
	s.Silence = time.Duration(silence * float64(time.Second))
	if holder == "" && !overdue {
		s.Successor = successor
	}
	w.mu.Lock()
	w.last.update(holder, at, epoch, sent, w.l.o.Lease)
	s.Free = s.Self || holder == "" && (s.Successor == "" || s.Successor == nameOf(w.l.self)) ||
		holder != "" && (s.Silence >= w.l.o.Lease || s.Silence < 0) && w.last.silent // below 0 if the database's clock was set back
	w.view = s
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

// note records the result of a beat.
func (w *watch) note(err error) {
	w.mu.Lock()
	var over []*held
	for _, s := range w.shards {
		s.view.Err = err
		if err != nil {
			s.view.Free, s.last = false, lastBeat{}
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

// ErrLease says that this node has not beaten for a lease: another node may have claimed what
// it held.
var ErrLease = errors.New("the lease of this node has run out")
