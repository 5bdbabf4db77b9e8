package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

// Handler runs one message. What it does through tx becomes durable together with the
// acknowledgement, or not at all. Its error is the outcome:
//
//	nil                   done
//	Retry(err, after)     again, after at least after; spends budget
//	Discard(err)          to the dead letters
//	anything else         again, after the policy's delay; spends budget
//
// A panic counts as an error, and so does runtime.Goexit, which t.Fatal calls. tx and d are
// valid until the handler returns.
type Handler func(ctx context.Context, tx *Tx, d *Delivery) error

// Middleware wraps a handler: it can examine the delivery before and the error after, put
// values into the context, or return without calling the handler.
//
//	func timed(next runner.Handler) runner.Handler {
//		return func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
//			defer func(start time.Time) { log.Printf("%s took %v", d.ID, time.Since(start)) }(time.Now())
//			return next(ctx, tx, d)
//		}
//	}
type Middleware func(next Handler) Handler

// wrap applies lists of middleware to h, if h is not nil.
func wrap(h Handler, lists ...[]Middleware) Handler {
	for _, list := range slices.Backward(lists) {
		for _, m := range slices.Backward(list) {
			if h != nil {
				h = m(h)
			}
		}
	}
	return h
}

// BatchHandler runs a whole batch. Its error is the outcome of every message without a
// Batched.Fail; nil acknowledges them. What it does through b.Tx and b.DeadLetter becomes
// durable with the acknowledgement.
type BatchHandler func(ctx context.Context, b *Batched) error

// Delivery is a message that is delivered to a handler.
type Delivery struct {
	Message
	Row Row
	// Frame is the message as it was posted.
	Frame []byte
	// Attempts is the number of deliveries of this message, including this one.
	Attempts uint32
	// Timer is the timer that fired the message, if FromTimer is set.
	Timer     TimerID
	FromTimer bool

	custody
	took     time.Duration // duration of its handler
	result   []byte        // see SetResult
	frameErr error
	exited   bool    // its handler has called runtime.Goexit
	at       int     // index in the worker's batch
	w        *Worker // nil unless a handler has it
}

// custody is how a worker holds a delivery.
type custody struct {
	lease   lease
	nth, of uint8         // index in a bundle, and size of the bundle; of is 0 for a row of its own
	prior   uint32        // deliveries before this one
	age     time.Duration // time since it was posted, at the claim; negative once it is recorded
	queue   band
	doomed  bool // its budget is spent: it is not run
	skip    bool // its id is completed already
	stray   bool // it does not reach the handler, see precheck
}

// Batched is a batch that is delivered to a BatchHandler.
type Batched struct {
	// Deliveries are in the order of their sequence numbers for an ordered worker, in the order
	// of the claim for others.
	Deliveries []Delivery
	// Tx is committed with the acknowledgement. It need not be used.
	Tx *Tx

	list  []Delivery // same as Deliveries, which the handler may change
	own   *Tx        // same as Tx
	fails []error
	dead  []DeadLetter
	w     *Worker
	ended atomic.Bool
	// dedupe says that a message has the flag Dedupe.
	dedupe bool
}

// Fail sets the outcome of delivery i, regardless of the handler's result. An ordered worker
// cannot retry a part of a batch: return Retry from the handler instead, which pauses the whole
// batch.
func (b *Batched) Fail(i int, err error) { b.fails[i] = err }

// DeadLetter adds a new dead letter for the failing parts of delivery i, framed anew. It is
// stored in the commit that acknowledges the batch, and dropped if the batch is delivered
// again.
func (b *Batched) DeadLetter(i int, frame []byte, reason error) {
	d := &b.Deliveries[i]
	b.dead = append(b.dead, DeadLetter{
		Cause: CauseReframed, Attempts: d.Attempts, Source: d.Row,
		Timer: d.Timer, FromTimer: d.FromTimer, Reason: reason.Error(), Frame: frame,
	})
}

// Renew extends the leases of the whole batch to the worker's LeaseTTL from now. It returns
// ErrLeaseLost if another claimant has taken a part of it.
func (b *Batched) Renew(ctx context.Context) error {
	if b.ended.Load() {
		return errLate
	}
	return b.w.renew(ctx, b.list)
}

// Renew extends the lease of d to the worker's LeaseTTL from now. The runner does so by itself
// while handlers run, unless Options.Now is set. It returns ErrLeaseLost if another claimant
// has taken the row, or the handler has returned; then nothing that the handler does counts. A
// delivery of Step or Replay has no lease: Renew does nothing.
func (d *Delivery) Renew(ctx context.Context) error {
	switch {
	case d.w == nil:
		return errLate
	case d.lease.Owner == 0:
		return nil
	}
	return d.w.renew(ctx, []Delivery{{Row: d.Row, custody: d.custody}})
}

var errLate = fmt.Errorf("renewed after its handler has returned: %w", ErrLeaseLost)

// verdict is what is done with a delivery.
type verdict uint8

const (
	verdictDone    verdict = iota // acknowledge, with effects
	verdictRetry                  // requeue, or dead letter when the budget is spent
	verdictDead                   // dead letter
	verdictHold                   // ordered: keep the claim, count the delivery
	verdictPause                  // ordered: keep the claim, do not count
	verdictFree                   // release the claim uncounted: it did not run
	verdictAgain                  // it met a conflict and is run again
	verdictSettled                // it is stored
)

// outcome is the meaning of a handler's error for its delivery.
type outcome struct {
	verdict   verdict
	cause     Cause
	after     time.Duration
	hasAfter  bool
	retryable bool // Retry or a conflict; the original's "retryable"
	conflict  bool
	err       error
}

// outcomeOf returns the outcome for a handler's error.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{verdict: verdictDone} // separate from failureOf, so that success allocates nothing
	}
	return failureOf(err)
}

func failureOf(err error) outcome {
	var retry *retryError
	var discard *discardError
	var panicked *PanicError
	var spent *spentError
	switch {
	case errors.As(err, &discard):
		return outcome{verdict: verdictDead, cause: CauseDiscarded, err: err}
	case errors.As(err, &spent):
		cause := CauseBudget
		if errors.As(err, &panicked) {
			cause = CausePanic
		}
		return outcome{verdict: verdictDead, cause: cause, err: err}
	case errors.As(err, &retry):
		return outcome{verdict: verdictRetry, cause: CauseBudget, after: retry.after, hasAfter: true, retryable: true,
			err: err}
	case errors.Is(err, ErrConflict):
		return outcome{verdict: verdictRetry, cause: CauseBudget, retryable: true, conflict: true, err: err}
	case errors.As(err, &panicked):
		return outcome{verdict: verdictRetry, cause: CausePanic, err: err}
	}
	return outcome{verdict: verdictRetry, cause: CauseBudget, err: err}
}

// guard turns a panic of f into a *PanicError.
func guard(f func() error) (err error) {
	defer recoverInto(&err)
	return f()
}

func recoverInto(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}
