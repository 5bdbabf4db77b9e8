package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"wamble/internal/store"
	"wamble/runner"
)

// Cadence of flushing: at once when so many messages wait, otherwise this long
// after the last flush; and so many batches in a row before looking again.
const (
	eagerAt        = 128
	flushEvery     = 200 * time.Millisecond
	batchesPerTurn = 4
)

// The bounds of what a drain has in hand: a transaction of about twenty thousand moves,
// or far behind so many of them (Next.Ahead).
const (
	maxBatch = 16 << 10 // messages
	maxBytes = 8 << 20  // of messages in a transaction
	maxAhead = 4
)

// Back-off after a transient error of the store, doubled each time.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// DrainOptions describe the drain of one profile.
type DrainOptions struct {
	Profile string
	Limits  Limits
	// Applied, if set, is told how far the store has come, from the drain's
	// goroutine.
	Applied func(through uint64)
	// Worked, if set, is told of every transaction of the store, and returns how to
	// go on. Empty does not rest.
	Worked func(Work) Next
	// Trouble, if set, is told of every failure of the store, and with nil when
	// the store works again.
	Trouble func(err error)
	// Dead, if set, is told how many intents went to the dead letters since the
	// last call, and why the last one did; at most every deadEvery.
	Dead func(count int, reason error)
	// Keep is what is kept of messages that the store has. KeepFailed, if set, is told
	// when that fails.
	Keep       KeepOptions
	KeepFailed func(err error)
	// WentBack, if set, is told of a store that has less than it had, and again when
	// it has what was kept.
	WentBack func(Setback)
	// Others, if set, reports whether the store lacks what other profiles had brought
	// there, and how far it has come with them: until it has that, it may refuse what it
	// has to take.
	Others func(ctx context.Context) (behind bool, at uint64)
	// Emitted, if set, is told when the feed of finished games has grown.
	Emitted func()
	// Happened, if set, is told from the drain's goroutine what happened in the
	// messages behind after up to through, once the store has them. The list is good
	// until it returns. When somebody begins to observe it is first told what was kept of
	// the messages before, perhaps again.
	Happened func(after, through uint64, list []Happened)
	// Observed is told up to which message the store has all, and reports whether anybody
	// wants to know what happens; nil: always. To tell costs as much as to plan a batch.
	Observed func(through uint64) bool
	// Remember keeps in the journal what Happened was told, for whoever holds it next.
	Remember bool
}

// Work is a transaction of the drain: what it brought to the store, and how long
// that took since the one before it, or since the messages were read.
type Work struct {
	Messages, Bytes int
	Took            time.Duration
}

// Next is how a drain goes on after a transaction: it rests, and then brings at most so
// many bytes of messages in each transaction; 0: as many as it can. From the journal it
// takes as many as are so many transactions, and plans one while the one before it is under
// way; 0: one.
type Next struct {
	Rest  time.Duration
	Bytes int
	Ahead int
}

// Drain moves the messages of one profile from the journal to its store, in
// order and exactly once. It is the profile's worker of the runner.
type Drain struct {
	r      *runner.Runner
	worker *runner.Worker
	store  store.Store
	o      DrainOptions

	planner Planner
	cursor  uint64 // last message that the store has
	known   bool   // cursor was read from the store, since that failed last
	kept    *kept  // nil: nothing is kept
	base    atomic.Uint64
	recheck atomic.Bool
	pause   time.Duration
	next    Next
	pending atomic.Int64
	wake    chan struct{}
	hasten  chan struct{}
	applied atomic.Uint64
	limits  atomic.Pointer[Limits]
	// emitted counts the games that were put into the feed, announced those that
	// o.Emitted was told of. Both belong to the drain's goroutine.
	emitted, announced uint64
	dead               burials // not told yet
	// told is the last message that o.Happened was told about, or need not be; telling
	// says that it is told of all that follow; happened is memory for the next call.
	told     uint64
	telling  bool
	happened []Happened
	remembered
	deadTold time.Time
	others   others
}

// NewDrain makes the drain of a profile. Exactly one may exist for each.
func NewDrain(ctx context.Context, r *runner.Runner, db store.Store, o DrainOptions) (*Drain, error) {
	id, err := WorkerOf(ctx, r, o.Profile)
	if err != nil {
		return nil, err
	}
	d := &Drain{r: r, store: db, o: o, wake: make(chan struct{}, 1), hasten: make(chan struct{}, 1)}
	d.SetLimits(o.Limits)
	d.worker, err = r.NewWorker(uint64(id), runner.WorkerOptions{
		Batch: d.handle, Ordered: true, Policy: &Policy,
		MaxBatch: maxBatch, MaxBytes: maxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("drain of profile %q: %w", o.Profile, err)
	}
	if o.Keep.Dir != "" {
		d.kept = openKept(o.Keep, store.JournalID(r.JournalID()), id)
	}
	d.count()
	return d, nil
}

// count asks the runner how many messages wait. Between two calls, Posted and
// the batches keep the number roughly right.
func (d *Drain) count() int {
	depth := 0
	for _, in := range d.r.Stats().Inboxes {
		if in.Worker == uint64(d.worker.ID()) {
			depth = int(in.Depth)
		}
	}
	d.pending.Store(int64(depth))
	return depth
}

// ErrAhead is returned when the store has more of a journal than the journal.
var ErrAhead = errors.New("the database is ahead of the journal")

// Fits checks that the store has no message that the journal has not numbered
// yet. An old copy of a journal that was put in its place would give its new
// messages numbers that the store has seen, and they would be skipped. A store that
// has less than it had gets it again.
func (d *Drain) Fits(ctx context.Context) error {
	at, err := d.store.Cursor(ctx, store.JournalID(d.r.JournalID()), d.o.Profile)
	if err != nil {
		return err
	}
	last := uint64(0)
	for _, in := range d.r.Stats().Inboxes {
		if in.Worker == uint64(d.worker.ID()) {
			last = in.NextSeq - 1
		}
	}
	if at > last {
		return fmt.Errorf("%w: it has messages of profile %q up to %d, and the journal ends at %d. "+
			"So this is an old copy of the journal, or its end was cut off; 'wamble runner restore' makes one fit", ErrAhead, d.o.Profile, at, last)
	}
	return d.meet(ctx, d.settled()+1)
}

// Worker returns the number of the profile's worker: the address of its
// messages.
func (d *Drain) Worker() uint32 { return uint32(d.worker.ID()) }

// Pending returns roughly how many messages wait.
func (d *Drain) Pending() int { return int(d.pending.Load()) }

// Applied returns the last message that the store has, 0 if that is unknown.
func (d *Drain) Applied() uint64 { return d.applied.Load() }

// SetLimits changes the bounds of a transaction, from the next one on.
func (d *Drain) SetLimits(l Limits) { d.limits.Store(&l) }

// Posted says that n messages became durable. It does not block.
func (d *Drain) Posted(n int) {
	if d.pending.Add(int64(n)) >= eagerAt {
		signal(d.wake)
	}
}

// Hasten lets the drain bring what waits to the store without a rest before that: somebody
// waits for it. It does not block.
func (d *Drain) Hasten() { signal(d.hasten) }

// signal wakes who waits for c, or will.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run drains until ctx is done, with the cadence above. It returns nil then,
// and otherwise why the runner can go no further.
func (d *Drain) Run(ctx context.Context) error {
	timer := time.NewTimer(flushEvery)
	defer timer.Stop()
	defer func() { d.tellDead(time.Now(), true) }()
	d.told = max(d.told, d.settled())
	for {
		d.listen(ctx, d.told)
		d.tellDead(time.Now(), false)
		select {
		case <-ctx.Done():
			return nil
		case <-d.wake:
		case <-d.hasten:
		case <-timer.C:
		}
		moved := false
		if d.recheck.Swap(false) {
			if err := d.meet(ctx, d.settled()+1); err != nil && ctx.Err() == nil {
				d.recheck.Store(true)
				d.trouble(err)
			}
		}
		for range batchesPerTurn {
			done, err := d.tick(ctx)
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("drain of profile %q: %w", d.o.Profile, err)
			}
			if done == 0 {
				break
			}
			moved = true
			d.sleep(ctx)
		}
		if err := d.feed(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the feed of profile %q: %w", d.o.Profile, err)
		}
		d.count()
		timer.Reset(d.untilNext(moved))
	}
}

// tick takes a batch to the store.
func (d *Drain) tick(ctx context.Context) (int, error) {
	return d.worker.TickOnce(ctx, d.next.bytes()*min(max(d.next.Ahead, 1), maxAhead))
}

// bytes bounds the messages of a transaction.
func (n Next) bytes() int {
	if n.Bytes <= 0 {
		return maxBytes
	}
	return min(n.Bytes, maxBytes)
}

// sleep rests for as long as the last transaction asks for, unless somebody is in haste.
func (d *Drain) sleep(ctx context.Context) {
	if d.next.Rest <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-d.hasten:
	case <-time.After(d.next.Rest):
	}
	d.next.Rest = 0
}

// untilNext is how long to wait after a turn. A turn that moved nothing although
// many messages wait was not allowed to, as during a handoff: to try again at
// once would only burn time.
func (d *Drain) untilNext(moved bool) time.Duration {
	if moved && d.Pending() >= eagerAt && d.pause == 0 {
		return 0
	}
	return flushEvery
}

// IsEmpty reports whether nothing is left to be drained.
func (d *Drain) IsEmpty() bool { return d.count() == 0 }

// IsPaused reports whether the host has paused the profile's queue.
func (d *Drain) IsPaused() bool {
	for _, in := range d.r.Stats().Inboxes {
		if in.Worker == uint64(d.worker.ID()) {
			return in.Paused
		}
	}
	return false
}

// Empty drains until nothing is left, as before a start or a change of the
// store, also what is in a paused queue. progress, if set, is told roughly how many
// messages are left.
func (d *Drain) Empty(ctx context.Context, progress func(left int)) error {
	defer func() { d.tellDead(time.Now(), true) }()
	d.worker.RunPaused(true)
	defer d.worker.RunPaused(false)
	for d.count() > 0 {
		done, err := d.tick(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("drain of profile %q: %w", d.o.Profile, err)
		}
		d.tellDead(time.Now(), false)
		if progress != nil {
			progress(d.count())
		}
		if done == 0 && d.count() > 0 { // the store is away, or a handoff rests
			select {
			case <-ctx.Done():
			case <-time.After(max(d.worker.IdleSleep(), time.Millisecond)):
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("drain of profile %q, with %d messages left: %w", d.o.Profile, d.Pending(), err)
		}
	}
	return nil
}

// Close takes the drain's worker out of the runner. Run must have ended.
func (d *Drain) Close() error {
	err := d.worker.Remove()
	if d.kept != nil {
		err = errors.Join(err, d.kept.close())
	}
	return err
}

// handle applies a batch of the journal. Its error pauses the worker with the
// batch claimed.
func (d *Drain) handle(ctx context.Context, b *runner.Batched) error {
	err := d.apply(ctx, b)
	if err == nil {
		if d.pause > 0 {
			d.trouble(nil)
		}
		if d.kept != nil {
			if err := d.kept.add(b, time.Now()); err != nil && d.o.KeepFailed != nil {
				d.o.KeepFailed(err)
			}
		}
		d.pause = 0
		return nil
	}
	if ctx.Err() != nil {
		return runner.Retry(err, 0) // the drain ends: the store is in no trouble
	}
	d.known = false // when the store is back it may be another one
	d.trouble(err)
	d.pause = min(max(2*d.pause, firstPause), maxPause)
	return runner.Retry(err, d.pause/2+rand.N(d.pause/2))
}

func (d *Drain) trouble(err error) {
	if d.o.Trouble != nil {
		d.o.Trouble(err)
	}
}

func (d *Drain) apply(ctx context.Context, b *runner.Batched) error {
	began := time.Now()
	run := newRun(b)
	if !d.known {
		if err := d.meet(ctx, run.queue[0].Seq); err != nil {
			return err
		}
	}
	queue, err := run.skip(ctx, d, run.queue)
	if err != nil {
		return err
	}
	renewed, left := time.Now(), waiting(queue)
	var next planned
	for len(queue) > 0 {
		// A renewal is a commit of the journal: rarely, not for every plan.
		if now := time.Now(); now.Sub(renewed) > Policy.LeaseTTL/4 {
			if err := b.Renew(ctx); err != nil {
				return err
			}
			renewed = now
		}
		now := next
		if now.taken == 0 {
			now = run.plan(d, d.front(queue), d.limits.Load().Adapt(left))
		}
		taken := queue[:now.taken]
		left -= waiting(taken)
		var err error
		next, err = run.applyAhead(ctx, d, now.Plan, queue[now.taken:], left)
		var moved *store.CursorMoved
		if errors.As(err, &moved) {
			// A commit whose answer was lost had succeeded.
			if moved.At <= d.cursor {
				return fmt.Errorf("the cursor went back from %d to %d: %w", d.cursor, moved.At, store.ErrTransient)
			}
			d.moveTo(moved.At)
			if queue, err = run.skip(ctx, d, queue); err != nil {
				return err
			}
			left, next = waiting(queue), planned{}
			continue
		}
		if err != nil {
			return err
		}
		d.moveTo(now.Through)
		began = d.worked(taken, began)
		queue = queue[now.taken:]
	}
	if err := run.emit(d); err != nil {
		return err
	}
	d.buried(run.dead)
	return d.tell(ctx, run)
}

// front returns those of the messages that are brought in the next transaction, at most:
// all of them, if they are hardly more than it may have, or equal parts.
func (d *Drain) front(queue []Message) []Message {
	all, room := size(queue), d.next.bytes()
	parts := max((all+room/2)/room, 1)
	part := all/parts + 1
	for i := range queue {
		if part <= 0 {
			return queue[:i]
		}
		part -= len(queue[i].frame)
	}
	return queue
}

// worked tells of messages that the store has now, and returns when the work on
// the next begins.
func (d *Drain) worked(messages []Message, began time.Time) time.Time {
	d.pending.Add(-int64(len(messages)))
	if d.o.Worked == nil {
		return began
	}
	d.next = d.o.Worked(Work{Messages: len(messages), Bytes: size(messages), Took: time.Since(began)})
	return time.Now()
}

// size is the bytes of messages.
func size(queue []Message) (n int) {
	for i := range queue {
		n += len(queue[i].frame)
	}
	return n
}

// waiting counts the intents of a queue.
func waiting(queue []Message) (n int) {
	for i := range queue {
		n += queue[i].intents
	}
	return n
}

func (d *Drain) moveTo(cursor uint64) {
	d.cursor = cursor
	d.applied.Store(cursor)
	if d.o.Applied != nil {
		d.o.Applied(cursor)
	}
}
