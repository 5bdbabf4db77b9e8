package runner

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// runEach runs the current batch message by message and settles it, in one commit unless it
// takes long.
func (w *Worker) runEach(ctx context.Context, e *engine, ahead bool, l limits) (n, ran int, err error) {
	b := w.cur
	b.growOuts()
	from, end := b.pos, w.r.o.elapsed()
	due := end + settleEvery
	defer func() {
		if w.exitedAt > 0 {
			w.settleExited(ctx, e, from, l)
		}
	}()
	i := from
	for ; ; i++ {
		b.begun.Store(int32(i + 1))
		for i < len(b.list) && !w.runs(b.list[i].Row.Seq, b.list[i].Row.Seq) {
			w.recheck(e, i)
		}
		if i == len(b.list) {
			break
		}
		if e.failed.Load() {
			return n, ran, e.failure()
		}
		d := &b.list[i]
		if w.repeats(d) && i > from {
			// Whether this one runs is known only when the first one is settled.
			done, err := w.settleRun(ctx, e, from, i, false, l, nil)
			n += done
			if err != nil || b.pos < i || i >= len(b.list) {
				return n, ran, err
			}
			from = i
			w.repeats(d)
		}
		d.at = i
		var out outcome
		var tx *Tx
		out, tx, end = w.runOne(e, d, end)
		if out.verdict != verdictDone {
			out = w.planned(d, out)
		}
		b.outs[i], b.txs[i] = out, tx
		ran++
		stop := b.outs[i].verdict == verdictHold || b.outs[i].verdict == verdictPause
		last := i+1 == len(b.list) || stop || ctx.Err() != nil || w.stopped.Load() || w.held()
		if !last && end < due && !(d.prior > 1) {
			continue
		}
		done, err := w.settleRun(ctx, e, from, i+1, ahead && last && !stop, l, nil)
		n += done
		if err != nil || last || b.pos <= i {
			return n, ran, err // an ordered worker may have settled less
		}
		from, due = i+1, end+settleEvery
	}
	// The rest of the batch was lost.
	done, err := w.settleRun(ctx, e, from, i, ahead, l, nil)
	return n + done, ran + 1, err
}

func (b *batch) growOuts() {
	for len(b.outs) < len(b.list) {
		b.outs = append(b.outs, outcome{})
		b.txs = append(b.txs, nil)
	}
	if len(b.slots) < len(b.list) {
		b.slots = make([]Tx, len(b.list))
	}
}

// tx returns a transaction for delivery i. None is used twice: a handler may have kept it.
func (b *batch) tx(i int, src *txSource) *Tx {
	tx := &b.slots[i]
	if tx.src != nil {
		tx = new(Tx)
	}
	tx.src = src
	return tx
}

// planned adds to an outcome when the message is delivered again, and for an ordered worker
// changes "back to the tail" to "stay".
func (w *Worker) planned(d *Delivery, o outcome) outcome {
	if o.verdict != verdictRetry && o.verdict != verdictFree {
		return o
	}
	if o.verdict == verdictRetry && !o.hasAfter {
		o.after = w.o.Policy.backoff(d, o.err)
	}
	if !w.o.Ordered {
		return o
	}
	if o.hasAfter || o.verdict == verdictFree {
		o.verdict = verdictPause
	} else {
		o.verdict = verdictHold
	}
	w.pause(o.after)
	return o
}

func (w *Worker) pause(after time.Duration) {
	w.holding.Store(true)
	w.resumeAt.Store(later(w.current.now(), int64((after+time.Millisecond-1)/time.Millisecond)))
}

// precheck returns the outcome of a delivery that must not be run.
func (w *Worker) precheck(e *engine, d *Delivery) (outcome, bool) {
	if d.doomed {
		return outcome{verdict: verdictDead, cause: CauseCrash, err: errCrashed}, true
	}
	if err := w.open(d); err != nil {
		o := outcome{verdict: verdictDead, cause: CauseMisrouted, err: err}
		if d.frameErr != nil {
			o.cause = CauseMalformed
		}
		return o, true
	}
	if d.Flags&Dedupe != 0 && w.seenBefore(e, d) {
		d.skip = true
		return outcome{verdict: verdictDone}, true
	}
	return outcome{}, false
}

// seenBefore reports whether d's id is completed. The commit checks again, because another
// delivery may complete it in between.
func (w *Worker) seenBefore(e *engine, d *Delivery) bool {
	w.key = appendDedupeKey(append(w.key[:0], byte(dedupeTable)), w.id, d.ID)
	value, ok, err := e.back.Get(w.buf[:0], w.key)
	w.buf = value[:0]
	if err != nil || !ok {
		return false
	}
	row, err := decodeDedupe(value)
	return err == nil && row.expires > e.steady()
}

// repeats reports whether d has the flag Dedupe and the id of a delivery that has run since the
// last settlement.
func (w *Worker) repeats(d *Delivery) bool {
	if len(d.Frame) < messageHeader || Flags(d.Frame[13])&Dedupe == 0 || w.open(d) != nil {
		return false
	}
	id := dedupeHash(d.ID)
	_, seen := w.ids[id]
	if w.ids == nil {
		w.ids = map[[dedupeHashLen]byte]struct{}{}
	}
	w.ids[id] = struct{}{}
	return seen
}

// turnAway is precheck with events for what it finds.
func (w *Worker) turnAway(e *engine, d *Delivery) (out outcome, away bool) {
	if out, away = w.precheck(e, d); !away || d.skip {
		return out, away
	}
	attempt, result, seq := d.events()
	w.tally.observe(0)
	if !d.doomed {
		w.replay(attempt, seq, d, nil)
		w.replay(result, seq, d, out.err)
	}
	w.failed(d, seq, out)
	return out, true
}

// events returns the kinds of d's events, and their sequence number.
func (d *Delivery) events() (attempt, result ReplayKind, seq uint64) {
	if d.FromTimer {
		return TimerAttempt, TimerResult, d.Timer.Seq
	}
	return InboxAttempt, InboxResult, d.Row.Seq
}

// runOne runs a delivery that starts at start, and also returns when it ended.
func (w *Worker) runOne(e *engine, d *Delivery, start time.Duration) (outcome, *Tx, time.Duration) {
	if out, away := w.turnAway(e, d); away {
		return out, nil, start
	}
	attempt, _, seq := d.events()
	w.replay(attempt, seq, d, nil)
	w.waited(d, start)
	w.src = txSource{e: e, before: w.before}
	tx := w.cur.tx(d.at, &w.src)
	d.w = w
	defer func() {
		if d.exited {
			d.exited = false
			out, tx, _ := w.ended(e, d, tx, start, errExited)
			w.cur.outs[d.at], w.cur.txs[d.at] = w.planned(d, out), tx
			w.exitedAt = d.at + 1
		}
	}()
	return w.ended(e, d, tx, start, w.call(w.run.ctx, tx, d))
}

// errExited is the error of a handler that ends its goroutine. The worker settles what the
// goroutine has run in deferred calls, and continues in another one.
var errExited = errors.New("the handler called runtime.Goexit")

// settleExited settles the deliveries from place from on up to the one whose handler has exited.
// If that was one that ran again after a conflict, those after it that were to run again are
// released.
func (w *Worker) settleExited(ctx context.Context, e *engine, from int, l limits) {
	b, at, to := w.cur, w.exitedAt, max(w.exitedAt, w.rerunTo)
	w.exitedAt, w.rerunTo = 0, 0
	for i := at; i < to; i++ {
		if b.outs[i].verdict == verdictAgain {
			b.outs[i], b.txs[i] = outcome{verdict: verdictFree}, nil
		}
	}
	_, _ = w.settleRun(ctx, e, from, to, false, l, nil) // an error occurs again in the next round
}

// ended returns the outcome of d, whose handler has returned err, and when it ended.
func (w *Worker) ended(e *engine, d *Delivery, tx *Tx, start time.Duration, err error) (outcome, *Tx, time.Duration) {
	_, result, seq := d.events()
	d.w = nil
	if bad := tx.close(); bad != nil {
		err = errors.Join(err, bad)
	}
	if err == nil {
		err = e.fits(tx, len(d.Frame))
	}
	end := w.r.o.elapsed()
	w.observe(end - start)
	d.took = end - start
	if d.FromTimer {
		w.tally.TimersFired++
	}
	w.replay(result, seq, d, err)
	var out outcome // success; an assignment would cost more than the branch
	if err != nil {
		out = w.outcome(w.run.ctx, err)
		w.failed(d, seq, out)
		if len(w.before) == 0 {
			tx = nil
		}
		return out, tx, end // its reads must be validated, see settleOp.one
	}
	for _, x := range tx.writes {
		if w.before == nil {
			w.before = map[string][]byte{}
		}
		w.before[string(x.key)] = x.value
	}
	return out, tx, end
}

// call runs the handler. It sets d.exited if the handler ends the goroutine.
func (w *Worker) call(ctx context.Context, tx *Tx, d *Delivery) (err error) {
	returned := false
	w.running.Add(1)
	defer w.running.Add(-1)
	w.watch()
	defer func() { d.exited = !returned && err == nil }()
	defer recoverInto(&err)
	if w.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = w.limit(ctx, d)
		defer cancel()
	}
	err = w.o.Handler(ctx, tx, d)
	returned = true
	return err
}

// limit returns the context for one run of a handler, which ends after WorkerOptions.Timeout;
// that is logged, because a handler that continues keeps its rows. For a batch, d is its first
// delivery.
func (w *Worker) limit(ctx context.Context, d *Delivery) (context.Context, context.CancelFunc) {
	if w.o.Timeout <= 0 {
		return ctx, func() {}
	}
	ev := LogEvent{Kind: LogOverdue, Seq: d.Row.Seq, ID: string(d.ID), Attempt: d.Attempts, Err: errTimeout}
	ctx, cancel := context.WithTimeoutCause(ctx, w.o.Timeout, errTimeout)
	context.AfterFunc(ctx, func() {
		_ = guard(func() error {
			if context.Cause(ctx) == errTimeout {
				w.log(ev)
			}
			return nil
		})
	})
	return ctx, cancel
}

var errTimeout = fmt.Errorf("the handler runs longer than its Timeout: %w", context.DeadlineExceeded)

// outcome is outcomeOf for a handler that has just returned. If its context has ended, or there
// was no space, the failure does not count against the message, unless the handler discards it
// or panics.
func (w *Worker) outcome(ctx context.Context, err error) outcome {
	out := outcomeOf(err)
	switch {
	case out.verdict != verdictRetry || out.cause == CausePanic:
	case ctx.Err() != nil:
		out = outcome{verdict: verdictFree, retryable: true, err: err}
	case errors.Is(err, ErrNoSpace):
		out = outcome{verdict: verdictFree, after: lowEvery, hasAfter: true, retryable: true, err: err}
	}
	return out
}

// fits returns an error if the effects of a handler must be refused: there is little space, and
// they take more than the message frees. Handlers that only consume messages continue.
func (e *engine) fits(tx *Tx, frames int) error {
	why := e.noSpace()
	if why == nil || tx.size() <= frames+smallTx {
		return nil
	}
	return why
}

// smallTx is how many bytes a transaction may write in addition to its message while there is
// little space: a counter, a cursor.
const smallTx = 1 << 10

// size returns about how many bytes t writes.
func (t *Tx) size() (n int) {
	for _, w := range t.writes {
		n += len(w.key) + len(w.value)
	}
	for i := range t.effects {
		n += len(t.effects[i].frame)
	}
	return n
}

// failed counts and logs a delivery that has not succeeded.
func (w *Worker) failed(d *Delivery, seq uint64, out outcome) {
	w.tally.failed(out)
	kind := LogNonRetryable
	if out.retryable {
		kind = LogRetryable
	}
	w.logOf(d, LogEvent{Kind: kind, Seq: seq, Err: out.err})
}

// settleRun commits the outcomes of deliveries from..to and handles the results: conflicts are
// run again, up to RequeueAttempts in all. It returns how many messages were completed.
func (w *Worker) settleRun(ctx context.Context, e *engine, from, to int, ahead bool, l limits, shared *Batched) (n int,
	err error) {
	var next *batch
	if ahead && len(w.nxt.rest()) == 0 && !w.rests() && ctx.Err() == nil && !w.stopped.Load() {
		if err := w.claim(e, w.nxt, e.now(), l, w.cur.list); err != nil {
			return 0, err
		}
		next = w.nxt
	}
	clear(w.ids)
	for try := 1; ; try++ {
		if err := w.send(e, from, to, next, shared); err != nil {
			return n, err
		}
		next = nil
		if shared != nil && errors.Is(w.settle.results[0].err, ErrLeaseLost) {
			return n, ErrLeaseLost
		}
		done, again, lost := w.answers(from, to)
		n += done
		if lost >= 0 && w.o.Ordered {
			// Another claimant has it now, and the deliveries after it must wait.
			w.release(e, w.cur, lost+1)
			w.release(e, w.nxt, w.nxt.pos)
			w.cur.pos = lost + 1
			w.holding.Store(false)
			return n, w.stopReason(from, lost+1)
		}
		if again == 0 {
			break
		}
		if shared != nil {
			return n, fmt.Errorf("%w: %w", errConflictInBatch, w.settle.results[0].err)
		}
		w.rerunTo = to
		to = w.rerun(ctx, e, from, to, try)
		w.rerunTo = 0
	}
	w.cur.pos = to
	if w.holding.Load() && to > from {
		w.cur.pos = to - 1 // the failed delivery stays
		if w.cur.outs[to-1].verdict == verdictHold && w.settle.results[to-1-from].dead {
			w.cur.pos = to
			w.holding.Store(false)
		}
	}
	return n, w.stopReason(from, to)
}

var errConflictInBatch = errors.New("conflict in a batch")

// rerun runs the deliveries with conflicts again, and returns the end of those that can be
// settled then: an ordered worker stops at the first that fails. Settled deliveries are marked
// so that they are not sent twice.
func (w *Worker) rerun(ctx context.Context, e *engine, from, to, try int) int {
	clear(w.before)
	w.holding.Store(false) // a delivery that fails now pauses again
	if d := (AttemptPolicy{}).withDefaults().backoff(try - 1); d > 0 {
		w.r.o.Sleep(ctx, nil, d)
	}
	for i := from; i < to; i++ {
		b := w.cur
		if b.outs[i].verdict != verdictAgain {
			continue
		}
		if e.failed.Load() {
			return i // the settlement returns the failure
		}
		if seq := b.list[i].Row.Seq; !w.runs(seq, seq) && w.o.Ordered && i > from {
			return i // the settlement finds the lost row
		}
		w.renewRun()
		var tx *Tx
		out := b.outs[i] // its error is nil if only an earlier one was refused
		if out.err != nil && try >= w.policy().RequeueAttempts {
			out = failureOf(out.err)
		} else {
			out, tx, _ = w.runOne(e, &b.list[i], w.r.o.elapsed())
		}
		b.outs[i], b.txs[i] = w.planned(&b.list[i], out), tx
		if v := b.outs[i].verdict; v == verdictHold || v == verdictPause {
			return i + 1
		}
	}
	return to
}

// answers counts and logs the results of the deliveries, and returns how many were completed,
// how many must run again, and the index of the first whose lease was lost, or -1.
func (w *Worker) answers(from, to int) (done, again, lost int) {
	lost = -1
	for i := from; i < to; i++ {
		d, out, res := &w.cur.list[i], &w.cur.outs[i], w.settle.results[i-from]
		if out.verdict == verdictSettled {
			continue
		}
		seq := d.Row.Seq
		if d.FromTimer {
			seq = d.Timer.Seq
		}
		switch {
		case res.err == errBehind:
			again++
			*out = outcome{verdict: verdictAgain}
			continue
		case res.err != nil && !errors.Is(res.err, ErrLeaseLost):
			again++
			refused := failureOf(res.err)
			if errors.Is(res.err, ErrNesting) {
				refused.retryable, refused.conflict = true, true
			}
			w.failed(d, seq, refused)
			out.verdict, out.err = verdictAgain, res.err
			continue
		case res.err != nil:
			w.tally.LeasesLost++
			w.logOf(d, LogEvent{Kind: LogNonRetryable, Seq: seq, Err: res.err})
			if lost < 0 {
				lost = i
			}
		case res.dup:
			w.tally.Duplicates++
		case res.dead:
			w.tally.DeadLetters++
			w.replay(DeadLettered, seq, d, out.err)
			w.logOf(d, LogEvent{Kind: LogDeadLetter, Seq: seq, Err: out.err, Detail: w.attemptsOf(d, out)})
		case out.verdict == verdictDone:
			w.tally.Successes++
			w.replay(Acknowledged, seq, d, nil)
			done++
		case out.verdict == verdictRetry:
			w.tally.Requeues++
			w.replay(Requeued, seq, d, out.err)
			w.logOf(d, LogEvent{Kind: LogRequeued, Seq: seq, Err: out.err, Detail: uint64(d.Attempts)})
		}
		if out.verdict != verdictHold && out.verdict != verdictPause {
			out.verdict = verdictSettled
		}
	}
	w.head().steps.Add(uint64(done))
	return done, again, lost
}

func (w *Worker) attemptsOf(d *Delivery, out *outcome) uint64 {
	switch out.cause {
	case CauseMalformed, CauseMisrouted:
		return 0
	case CauseCrash:
		return uint64(d.prior)
	}
	return uint64(d.Attempts)
}

// stopReason returns the error that stops the worker under Policy.StopOnError.
func (w *Worker) stopReason(from, to int) error {
	if !w.policy().StopOnError {
		return nil
	}
	for _, o := range w.cur.outs[from:to] {
		if o.err != nil && !o.retryable && o.cause != CauseDiscarded && o.cause != CauseMalformed &&
			o.cause != CauseMisrouted {
			return o.err
		}
	}
	return nil
}

// replay passes an event to Sinks.Replay, if it is set.
func (w *Worker) replay(kind ReplayKind, seq uint64, d *Delivery, err error) {
	if sink := w.sink().Replay; sink != nil {
		w.tellReplay(sink, kind, seq, d, err)
	}
}

// tellReplay passes the sink a copy of the frame and overwrites it afterwards, so that a sink
// that keeps it notices.
func (w *Worker) tellReplay(sink func(ReplayEvent), kind ReplayKind, seq uint64, d *Delivery, err error) {
	w.frame = append(w.frame[:0], d.Frame...)
	sink(ReplayEvent{Kind: kind, Worker: w.id, Seq: seq, Err: err, Frame: w.frame})
	for i := range w.frame {
		w.frame[i] = 0xDB
	}
}
