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

// Handler runs one message. What it does through tx becomes durable together
// with the acknowledgement, or not at all. Its error is the outcome:
//
//	nil                   done
//	Retry(err, after)     again, not before after has passed; spends budget
//	Discard(err)          to the dead letters
//	anything else         again, with the policy's delay; spends budget
//
// A panic is an error too. tx and d are valid until the handler returns.
type Handler func(ctx context.Context, tx *Tx, d *Delivery) error

// Middleware wraps a handler: it may look at the delivery before and at the error
// after, put values into the context, or answer itself.
//
//	func timed(next runner.Handler) runner.Handler {
//		return func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
//			defer func(start time.Time) { log.Printf("%s took %v", d.ID, time.Since(start)) }(time.Now())
//			return next(ctx, tx, d)
//		}
//	}
type Middleware func(next Handler) Handler

// wrap puts lists of middleware around h, if there is a handler.
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

// BatchHandler runs a whole batch. Its error is the outcome of every message
// that it did not settle by Batched.Fail; nil acknowledges the rest. What it
// does through b.Tx and b.DeadLetter becomes durable with the acknowledgement.
type BatchHandler func(ctx context.Context, b *Batched) error

// Delivery is a message on its way through a handler.
type Delivery struct {
	Message
	Row Row
	// Frame is the message as it was posted.
	Frame []byte
	// Attempts counts deliveries of this message, this one included.
	Attempts uint32
	// Timer names the timer that fired it, if FromTimer is set.
	Timer     TimerID
	FromTimer bool

	custody
	took     time.Duration // by its handler
	result   []byte        // see SetResult
	frameErr error
	at       int     // its place in the worker's batch
	w        *Worker // nil when no handler has it
}

// custody is how a worker holds a delivery.
type custody struct {
	lease   lease
	nth, of uint8         // its place in a bundle, and how many that holds; of is 0 for a row of its own
	prior   uint32        // deliveries before this one
	age     time.Duration // when it was claimed; negative if that was counted
	queue   band
	doomed  bool // its budget is spent: it is not run again
	skip    bool // its id is done already
	stray   bool // it is not for the handler: see precheck
}

// Batched is a batch on its way through a BatchHandler.
type Batched struct {
	// Deliveries are in the order of their sequence numbers for an ordered
	// worker, and as they were claimed for others.
	Deliveries []Delivery
	// Tx is committed with the acknowledgement. It is nil-safe to ignore.
	Tx *Tx

	list  []Delivery // as Deliveries, which is the handler's
	fails []error
	dead  []DeadLetter
	w     *Worker
	ended atomic.Bool
	// dedupe says that there is a message with that flag.
	dedupe bool
}

// Fail sets the outcome of delivery i, whatever the handler returns.
// An ordered worker does not honour Retry for a part of a batch: a transient
// failure pauses the whole of it, so return it from the handler instead.
func (b *Batched) Fail(i int, err error) { b.fails[i] = err }

// DeadLetter adds a new dead letter that takes the place of parts of delivery
// i: the failing ones, framed anew. It is stored in the same commit that
// acknowledges the batch, and dropped when the batch is delivered again.
func (b *Batched) DeadLetter(i int, frame []byte, reason error) {
	d := &b.Deliveries[i]
	b.dead = append(b.dead, DeadLetter{
		Cause: CauseReframed, Attempts: d.Attempts, Source: d.Row,
		Timer: d.Timer, FromTimer: d.FromTimer, Reason: reason.Error(), Frame: frame,
	})
}

// Renew extends the lease of the whole batch to the worker's LeaseTTL from
// now. It returns ErrLeaseLost when another claimant has taken a part of it.
func (b *Batched) Renew(ctx context.Context) error {
	if b.ended.Load() {
		return errLate
	}
	return b.w.renew(ctx, b.list)
}

// Renew extends the lease of d to the worker's LeaseTTL from now. The runner does
// so by itself while handlers run, unless Options.Now was replaced. It returns
// ErrLeaseLost when another claimant has taken the row, or the handler has
// returned; nothing that it does counts then. What is in no inbox, because Step or
// Replay runs it, has no lease: there Renew does nothing.
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

// verdict is what becomes of one delivery.
type verdict uint8

const (
	verdictDone    verdict = iota // acknowledge, with effects
	verdictRetry                  // requeue, or dead-letter when the budget is spent
	verdictDead                   // dead-letter now
	verdictHold                   // ordered: stays claimed, counted
	verdictPause                  // ordered: stays claimed, not counted
	verdictFree                   // give the claim back uncounted: it never ran
	verdictAgain                  // it met a conflict and runs again
	verdictSettled                // stored
)

// outcome is what a handler's error means for its delivery.
type outcome struct {
	verdict   verdict
	cause     Cause
	after     time.Duration
	hasAfter  bool
	retryable bool // Retry or a conflict, which the original called retryable
	conflict  bool
	err       error
}

// outcomeOf sorts what a handler returned.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{verdict: verdictDone} // here, so that success allocates nothing
	}
	return failureOf(err)
}

func failureOf(err error) outcome {
	var retry *retryError
	var discard *discardError
	var panicked *PanicError
	switch {
	case errors.As(err, &discard):
		return outcome{verdict: verdictDead, cause: CauseDiscarded, err: err}
	case errors.As(err, &retry):
		return outcome{verdict: verdictRetry, cause: CauseBudget, after: retry.after, hasAfter: true, retryable: true, err: err}
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
