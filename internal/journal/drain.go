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

// The drain flushes at once when fullAt messages wait, otherwise flushEvery after the last flush, and at
// most batchesPerTurn batches per turn.
const (
	fullAt         = 128
	flushEvery     = 200 * time.Millisecond
	batchesPerTurn = 4
)

// The bounds of one claim of the drain: a transaction of about twenty thousand moves, or maxAhead of these
// far behind (Next.Ahead).
const (
	maxBatch = 16 << 10 // messages
	maxBytes = 8 << 20  // of messages in a transaction
	maxAhead = 4
)

// The back-off after a transient error of the store, doubled each time.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// DrainOptions configures the drain of one profile. Its functions may be nil.
type DrainOptions struct {
	Profile string
	Limits  Limits
	// OnApplied is called with the last message that the store has, on the drain's goroutine.
	OnApplied func(through uint64)
	// OnTransaction is called after every transaction of the store, and returns how to go on. DrainAll ignores its
	// Pause.
	OnTransaction func(Work) Next
	// OnStoreResult is called with every failure of the store, and with nil when the store works again.
	OnStoreResult func(err error)
	// OnDeadLetters is called with the number of new dead letters and the last reason, at most every deadReportEvery.
	OnDeadLetters func(count int, reason error)
	// Retain configures which messages are kept that the store has. OnRetainFailed is called when that fails.
	Retain         RetainOptions
	OnRetainFailed func(err error)
	// OnRollback is called for a store that has less than it had, and again when the kept messages are there.
	OnRollback func(Rollback)
	// Others reports whether the store lacks messages that other profiles had brought there, and the sum of
	// their cursors: until it has them, it may refuse what it must take.
	Others func(ctx context.Context) (behind bool, at uint64)
	// Observer receives games and events that the store has; nil if there is none.
	Observer Observer
	// RememberEvents keeps the events that the observer was given in the journal, for the next process that
	// holds it.
	RememberEvents bool
}

// Work is a transaction of the drain: its size, and the time since the one before, or since the messages
// were read.
type Work struct {
	Messages, Bytes int
	Took            time.Duration
}

// Next is how a drain goes on after a transaction: it pauses, and then puts at most Bytes of messages into
// each transaction; 0: as many as it can. It claims enough messages for Ahead transactions, and plans one
// while the one before is under way; 0: one.
type Next struct {
	Pause time.Duration
	Bytes int
	Ahead int
}

// Drain moves the messages of one profile from the journal to its store, in order and exactly once. It is
// the runner's worker of the profile.
type Drain struct {
	r      *runner.Runner
	worker *runner.Worker
	store  store.Store
	o      DrainOptions

	planner  Planner
	cursor   uint64    // last message that the store has
	known    bool      // cursor was read from the store since the last failure
	retained *retained // nil: nothing is kept
	base     atomic.Uint64
	recheck  atomic.Bool
	pause    time.Duration
	next     Next
	pending  atomic.Int64
	wake     chan struct{}
	urgent   chan struct{}
	applied  atomic.Uint64
	limits   atomic.Pointer[Limits]
	// emitted counts the games put into the feed, announced those that were reported to the observer. Only the
	// drain's goroutine uses them.
	emitted, announced uint64
	unreported         deadLetterBatch // not reported yet
	// eventsBefore is the last message whose events were, or need not be, reported; observed says that those of
	// all later messages are reported; eventBuffer is reused.
	eventsBefore uint64
	observed     bool
	eventBuffer  []Event
	remembered
	deadReported time.Time
	others       others
}

// NewDrain makes the drain of a profile. A profile may have only one.
func NewDrain(ctx context.Context, r *runner.Runner, db store.Store, o DrainOptions) (*Drain, error) {
	id, err := WorkerOf(ctx, r, o.Profile)
	if err != nil {
		return nil, err
	}
	d := &Drain{r: r, store: db, o: o, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
	d.SetLimits(o.Limits)
	d.worker, err = r.NewWorker(uint64(id), runner.WorkerOptions{
		Batch: d.handle, Ordered: true, Policy: &Policy,
		MaxBatch: maxBatch, MaxBytes: maxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("drain of profile %q: %w", o.Profile, err)
	}
	if o.Retain.Dir != "" {
		d.retained = openRetained(o.Retain, store.JournalID(r.JournalID()), id)
	}
	d.count()
	return d, nil
}

// count reads from the runner how many messages wait. Between two calls, Added and the batches keep the
// number approximately right.
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

// ErrAhead is returned when the store has messages that the journal has not.
var ErrAhead = errors.New("the database is ahead of the journal")

// Fits returns ErrAhead if the store has a message that the journal has not numbered yet. An old copy of a
// journal would give its new messages numbers that the store has seen, so they would be skipped. A store
// that has less than it had gets the kept messages again.
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
			"So this is an old copy of the journal, or its end was cut off; 'wamble runner restore' makes one fit",
			ErrAhead, d.o.Profile, at, last)
	}
	return d.syncCursor(ctx, d.drained()+1)
}

// Worker returns the number of the profile's worker, the address of its messages.
func (d *Drain) Worker() uint32 { return uint32(d.worker.ID()) }

// Pending returns approximately how many messages wait.
func (d *Drain) Pending() int { return int(d.pending.Load()) }

// Applied returns the last message that the store has, 0 if that is unknown.
func (d *Drain) Applied() uint64 { return d.applied.Load() }

// SetLimits changes the bounds of a transaction, from the next one on.
func (d *Drain) SetLimits(l Limits) { d.limits.Store(&l) }

// Added counts n messages that became durable. It does not block.
func (d *Drain) Added(n int) {
	if d.pending.Add(int64(n)) >= fullAt {
		signal(d.wake)
	}
}

// SetUrgent makes the drain start at once on what waits, without a pause. It does not block.
func (d *Drain) SetUrgent() { signal(d.urgent) }

// signal wakes the receiver of c, now or when it next waits.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run drains until ctx is done and then returns nil. An error is why the runner cannot go on.
func (d *Drain) Run(ctx context.Context) error {
	timer := time.NewTimer(flushEvery)
	defer timer.Stop()
	defer func() { d.reportDeadLetters(time.Now(), true) }()
	d.beginEvents()
	for {
		d.checkObserver(ctx, d.eventsBefore)
		d.reportDeadLetters(time.Now(), false)
		select {
		case <-ctx.Done():
			return nil
		case <-d.wake:
		case <-d.urgent:
		case <-timer.C:
		}
		moved := false
		if d.recheck.Swap(false) {
			if err := d.syncCursor(ctx, d.drained()+1); err != nil && ctx.Err() == nil {
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

// tick claims a batch and applies it.
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

// sleep pauses as long as the last Next says, or until SetUrgent.
func (d *Drain) sleep(ctx context.Context) {
	if d.next.Pause <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-d.urgent:
	case <-time.After(d.next.Pause):
	}
	d.next.Pause = 0
}

// untilNext returns the pause after a turn. A turn that moved nothing although many messages wait was not
// allowed to, as during a handoff; trying again at once would waste time.
func (d *Drain) untilNext(moved bool) time.Duration {
	if moved && d.Pending() >= fullAt && d.pause == 0 {
		return 0
	}
	return flushEvery
}

// IsEmpty reports whether no message is left.
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

// DrainAll drains until no message is left, before a start or a change of the store, even if the queue is
// paused. progress, unless nil, is called with the approximate number of messages left.
func (d *Drain) DrainAll(ctx context.Context, progress func(left int)) error {
	defer func() { d.reportDeadLetters(time.Now(), true) }()
	d.worker.RunPaused(true)
	defer d.worker.RunPaused(false)
	for d.count() > 0 {
		done, err := d.tick(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("drain of profile %q: %w", d.o.Profile, err)
		}
		d.reportDeadLetters(time.Now(), false)
		if progress != nil {
			progress(d.count())
		}
		if done == 0 && d.count() > 0 { // the store is away, or the runner is frozen for a handoff
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

// Close removes the drain's worker from the runner. Run must have ended.
func (d *Drain) Close() error {
	err := d.worker.Remove()
	if d.retained != nil {
		err = errors.Join(err, d.retained.close())
	}
	return err
}

// handle applies a batch of the journal. An error pauses the worker, which keeps its claim on the batch.
func (d *Drain) handle(ctx context.Context, b *runner.Batched) error {
	err := d.apply(ctx, b)
	if err == nil {
		if d.pause > 0 {
			d.trouble(nil)
		}
		if d.retained != nil {
			if err := d.retained.add(b, time.Now()); err != nil && d.o.OnRetainFailed != nil {
				d.o.OnRetainFailed(err)
			}
		}
		d.pause = 0
		return nil
	}
	if ctx.Err() != nil {
		return runner.Retry(err, 0) // the drain ends: not a failure of the store
	}
	d.known = false // it may be another store when it is back
	d.trouble(err)
	d.pause = min(max(2*d.pause, firstPause), maxPause)
	return runner.Retry(err, d.pause/2+rand.N(d.pause/2))
}

func (d *Drain) trouble(err error) {
	if d.o.OnStoreResult != nil {
		d.o.OnStoreResult(err)
	}
}

func (d *Drain) apply(ctx context.Context, b *runner.Batched) error {
	began := time.Now()
	run := newRun(b)
	if !d.known {
		if err := d.syncCursor(ctx, run.queue[0].Seq); err != nil {
			return err
		}
	}
	queue, err := run.skip(ctx, d, run.queue)
	if err != nil {
		return err
	}
	d.holdEvents(run.queue)
	renewed, left := time.Now(), waiting(queue)
	var next planned
	for len(queue) > 0 {
		// A renewal is a commit of the journal, so it is not made for every plan.
		if now := time.Now(); now.Sub(renewed) > Policy.LeaseTTL/4 {
			if err := b.Renew(ctx); err != nil {
				return err
			}
			renewed = now
		}
		now := next
		if now.taken == 0 {
			now = run.plan(d, d.nextBatch(queue), d.limits.Load().Adapt(left))
		}
		taken := queue[:now.taken]
		left -= waiting(taken)
		var err error
		next, err = run.applyAhead(ctx, d, now.Plan, queue[now.taken:], left)
		var moved *store.CursorMoved
		if errors.As(err, &moved) {
			// An earlier commit has succeeded, but its answer was lost.
			if moved.At <= d.cursor {
				return fmt.Errorf("the cursor went back from %d to %d: %w", d.cursor, moved.At, store.ErrTransient)
			}
			d.setCursor(moved.At)
			if queue, err = run.skip(ctx, d, queue); err != nil {
				return err
			}
			left, next = waiting(queue), planned{}
			continue
		}
		if err != nil {
			return err
		}
		d.setCursor(now.Through)
		began = d.reportWork(taken, began)
		queue = queue[now.taken:]
	}
	if err := run.emit(d); err != nil {
		return err
	}
	d.addDeadLetters(run.dead)
	return d.publishEvents(ctx, run)
}

// nextBatch returns the messages for the next transaction: all, if they are hardly more than it may have, or
// else one of several parts of equal size.
func (d *Drain) nextBatch(queue []Message) []Message {
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

// reportWork reports a transaction, and returns when the work on the next begins.
func (d *Drain) reportWork(messages []Message, began time.Time) time.Time {
	d.pending.Add(-int64(len(messages)))
	if d.o.OnTransaction == nil {
		return began
	}
	d.next = d.o.OnTransaction(Work{Messages: len(messages), Bytes: size(messages), Took: time.Since(began)})
	return time.Now()
}

// size returns the bytes of messages.
func size(queue []Message) (n int) {
	for i := range queue {
		n += len(queue[i].frame)
	}
	return n
}

// waiting returns the number of intents of messages.
func waiting(queue []Message) (n int) {
	for i := range queue {
		n += queue[i].intents
	}
	return n
}

func (d *Drain) setCursor(cursor uint64) {
	d.cursor = cursor
	d.applied.Store(cursor)
	if d.o.OnApplied != nil {
		d.o.OnApplied(cursor)
	}
}
