package runner

import "context"

// waiter lets one goroutine wait for its request. It is embedded in requests.
type waiter struct {
	ch  chan error
	err error // set by apply when the request refuses itself
}

// newWaiter takes a channel that was used before, if there is one. Channels
// stay with their runner, so that one which lives in a testing/synctest bubble
// leaves nothing behind for the next.
func (e *engine) newWaiter() waiter {
	ch, ok := e.k.waiters.Get().(chan error)
	if !ok {
		ch = make(chan error, 1)
	}
	return waiter{ch: ch}
}

func (w *waiter) count() int { return 1 }

func (w *waiter) done(err error) {
	if err == nil {
		err = w.err
	}
	w.ch <- err
}

// call submits o, whose waiter is w, and waits for its result. When ctx ends
// first the outcome is unknown: the request may still be committed.
func (e *engine) call(ctx context.Context, o op, w *waiter) error {
	if err := e.k.submit(o, 64, 0); err != nil {
		return err
	}
	select {
	case err := <-w.ch:
		e.k.waiters.Put(w.ch)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// funcOp is a request for what happens seldom.
type funcOp struct {
	waiter
	f func(c *commit) error
}

func (o *funcOp) apply(c *commit) { o.err = o.f(c) }

// do runs f on the committer and waits until its writes are durable. f must
// not write when it returns an error.
func (e *engine) do(ctx context.Context, f func(c *commit) error) error {
	o := &funcOp{waiter: e.newWaiter(), f: f}
	return e.call(ctx, o, &o.waiter)
}
