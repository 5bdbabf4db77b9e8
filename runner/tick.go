package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Tick does one round of work: it moves due timers to their inboxes, claims up to MaxBatch
// rows, runs them and settles them, and repeats that until it has used MaxBatch deliveries or
// finds none. It returns how many messages were completed, also with an error. With nothing to
// do it returns 0 and nil.
//
// Errors are those of the runner (ErrStopped, ErrFailed) and, with Policy.StopOnError, that of
// a handler. Other errors of handlers are not returned: they are in the log, the metrics and
// the dead letters.
func (w *Worker) Tick(ctx context.Context) (int, error) {
	return w.ticks(ctx, w.o.MaxBytes, false)
}

// TickOnce is Tick with a single claim, of at most maxBytes bytes of frames: for a caller that
// pauses between claims, or adapts the amount to the handler.
func (w *Worker) TickOnce(ctx context.Context, maxBytes int) (int, error) {
	return w.ticks(ctx, maxBytes, true)
}

func (w *Worker) ticks(ctx context.Context, maxBytes int, once bool) (int, error) {
	if w.stopped.Load() {
		return 0, ErrStopped
	}
	w.activate(1)
	defer w.activate(-1)
	w.tick.Lock()
	defer w.tick.Unlock()
	w.beginRun(ctx)
	defer w.endRun()
	total, used := 0, 0
	for used < w.o.MaxBatch {
		n, ran, err := w.rounds(ctx, false, limits{rows: w.o.MaxBatch - used, bytes: maxBytes})
		total += n
		used += ran
		if err != nil {
			w.fail(err, total)
			return total, err
		}
		if ran == 0 || once {
			break
		}
	}
	return total, nil
}

// round is one claim and its run, for a started worker: it claims the next batch in the commit
// that settles the current one.
func (w *Worker) round(ctx context.Context) (n int, more bool, err error) {
	w.tick.Lock()
	defer w.tick.Unlock()
	n, ran, err := w.rounds(ctx, true, limits{rows: w.o.MaxBatch, bytes: w.o.MaxBytes})
	return n, ran > 0, err
}

// rounds returns the number of completed messages and of used deliveries.
func (w *Worker) rounds(ctx context.Context, ahead bool, l limits) (n, ran int, err error) {
	defer w.publish()
	e := w.r.engine()
	if err := e.enter(); err != nil {
		return 0, 0, err
	}
	defer e.exit()
	if err := e.failure(); err != nil {
		return 0, 0, err
	}
	defer e.recover(&err) // panics of handlers are outcomes and do not arrive here
	if w.current != e {
		// The runner was reopened: the leases belong to the previous engine.
		w.current = e
		w.holding.Store(false)
		w.renewRun()
		w.cur.reset()
		w.nxt.reset()
	}
	w.idle.Store(ahead && len(w.cur.rest())+len(w.nxt.rest()) == 0)
	now := e.now()
	if err := w.chores(ctx, e); err != nil {
		return 0, 0, err
	}
	if w.held() {
		w.releaseAll(e)
		return 0, 0, nil
	}
	if w.holding.Load() && now < w.resumeAt.Load() || w.r.isQuiet() {
		return 0, 0, nil
	}
	if pace := w.head().lanePace.Load(); !w.paced && pace > 0 {
		w.pace, w.paced = time.Duration(pace), true
	}
	if ahead && !w.paced && !w.o.Ordered && w.o.Batch == nil {
		l.rows = 1 // the duration of a message is unknown, and other workers may start at the same time
	}
	if len(w.cur.rest()) == 0 {
		if err := w.acquire(e, now, l); err != nil {
			return 0, 0, err
		}
	}
	if len(w.cur.rest()) == 0 {
		_, err := e.sweepDedupe(ctx, e.steady())
		if err == nil {
			err = w.dropOldDead(ctx, e, now)
		}
		return 0, 0, err
	}
	w.holding.Store(false)
	clear(w.before)
	if w.o.Batch != nil {
		return w.runBatch(ctx, e, ahead, l)
	}
	if ahead && w.spans() {
		return w.runWindow(ctx, e, l)
	}
	return w.runEach(ctx, e, ahead, l)
}

// chores does the work that any worker does for all before it claims: due timers.
func (w *Worker) chores(ctx context.Context, e *engine) error {
	wall := e.wall()
	if err := e.checkSchedules(ctx, wall); err != nil {
		return err
	}
	_, err := e.fireDue(ctx, wall)
	return err
}

// acquire makes the batch claimed ahead the current one, or claims one.
func (w *Worker) acquire(e *engine, now int64, l limits) error {
	if len(w.nxt.rest()) > 0 {
		w.cur, w.nxt = w.nxt, w.cur
		w.nxt.reset()
		return nil
	}
	if err := w.claim(e, w.cur, now, l, nil); err != nil || len(w.cur.list) == 0 {
		return err
	}
	return w.send(e, 0, 0, w.cur, nil)
}

// send stores outcomes and claims, and waits without a time limit, because the committer uses
// the worker's memory meanwhile; a committer that never answers has failed.
func (w *Worker) send(e *engine, from, to int, next *batch, b *Batched) error {
	w.cur.findPlain(from, to, w.tracked.Load())
	o := &w.settle
	*o = settleOp{waiter: e.newWaiter(), e: e, w: w, b: w.cur, from: from, to: to, next: next,
		results: o.results, buf: o.buf}
	if b != nil {
		o.shared, o.dead, o.dedupe = b.Tx, b.dead, b.dedupe
	}
	return e.call(context.Background(), o, &o.waiter)
}

// giveBack releases the leases of claimed deliveries that were not run; they do not count.
func (w *Worker) giveBack() {
	w.tick.Lock()
	defer w.tick.Unlock()
	e := w.current
	if e == nil || e != w.r.engine() || e.enter() != nil {
		return
	}
	defer e.exit()
	w.releaseAll(e)
}

func (w *Worker) releaseAll(e *engine) {
	for _, b := range [2]*batch{w.cur, w.nxt} {
		w.release(e, b, b.pos)
		b.reset()
	}
	w.holding.Store(false)
}

// release releases the deliveries of b from place from on.
func (w *Worker) release(e *engine, b *batch, from int) {
	if from >= len(b.list) {
		return
	}
	b.growOuts()
	for i := from; i < len(b.list); i++ {
		b.outs[i], b.txs[i] = outcome{verdict: verdictFree}, nil
	}
	cur := w.cur
	w.cur = b
	// If it fails, the next start releases the leases.
	_ = w.send(e, from, len(b.list), nil, nil)
	w.cur = cur
	b.list = b.list[:from]
}

// Step runs the handler on a frame that is in no inbox: it decodes the frame, checks that it is
// for this worker, runs the handler and commits its effects. It returns the handler's error,
// ErrMisrouted, ErrStopped, or a decoding error.
func (w *Worker) Step(ctx context.Context, frame []byte) error {
	if w.stopped.Load() || w.r.State() == Stopped {
		return ErrStopped
	}
	d := Delivery{Frame: frame, w: w}
	if err := w.open(&d); err != nil {
		return err
	}
	if w.o.Handler == nil {
		return fmt.Errorf("worker %d has a batch handler: %w", w.id, ErrInvalid)
	}
	_, err := w.r.Update(ctx, AttemptPolicy{Retries: -1}, func(tx *Tx) error { return w.o.Handler(ctx, tx, &d) })
	if err == nil {
		w.steps.Add(1)
	}
	return err
}

// open decodes a delivery's frame and checks its target.
func (w *Worker) open(d *Delivery) error {
	if d.frameErr == nil {
		d.frameErr = d.Message.decode(d.Frame)
	}
	if d.frameErr != nil {
		return d.frameErr
	}
	if d.To != w.id {
		return fmt.Errorf("worker %d got a message for %d: %w", w.id, d.To, ErrMisrouted)
	}
	return nil
}

// settleEvery bounds how long finished messages of a batch wait for slow ones after them.
const settleEvery = 5 * time.Millisecond

// errCrashed is the reason of messages during which the process died.
var errCrashed = errors.New("the process died or the lease ran out under every delivery")
