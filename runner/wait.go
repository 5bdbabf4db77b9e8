package runner

import (
	"context"
	"sync"
)

// waiter lets one goroutine wait for its request. It is embedded in requests.
type waiter struct {
	ch  chan error
	err error // set by apply when the request refuses itself
}

var waiters = sync.Pool{New: func() any { return make(chan error, 1) }}

func newWaiter() waiter { return waiter{ch: waiters.Get().(chan error)} }

func (w *waiter) done(err error) {
	if err == nil {
		err = w.err
	}
	w.ch <- err
}

// wait returns the request's result. When ctx ends first the outcome is
// unknown: the request may still be committed.
func (w *waiter) wait(ctx context.Context) error {
	select {
	case err := <-w.ch:
		waiters.Put(w.ch)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call submits o, whose waiter is w, and waits for it.
func (e *engine) call(ctx context.Context, o op, w *waiter, limit int) error {
	if err := e.k.submit(o, limit); err != nil {
		return err
	}
	return w.wait(ctx)
}

// funcOp is a request for what happens seldom.
type funcOp struct {
	waiter
	f func(c *commit) error
}

func (o *funcOp) apply(c *commit) { o.err = o.f(c) }
func (o *funcOp) size() int       { return 64 }

// do runs f on the committer and waits until its writes are durable. f must
// not write when it returns an error.
func (e *engine) do(ctx context.Context, f func(c *commit) error) error {
	o := &funcOp{waiter: newWaiter(), f: f}
	return e.call(ctx, o, &o.waiter, 0)
}
