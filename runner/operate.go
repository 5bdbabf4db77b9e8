package runner

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// What an operator does to single messages and to queues while the runner runs.

// DeleteMessage removes a message that waits, for ever. It returns ErrNotFound
// when it is done or never was, and ErrLeased while a worker has it.
func (r *Runner) DeleteMessage(ctx context.Context, row Row) error {
	return r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.idle(row)
		if err == nil {
			c.remove(in, row.Seq, h.band)
		}
		return err
	})
}

// RetryNow lets a message that waits for its next attempt be delivered at once. What
// it has spent of its budget stays spent. Errors are those of DeleteMessage.
func (r *Runner) RetryNow(ctx context.Context, row Row) error {
	return r.engine().do(ctx, func(c *commit) error {
		in, h, err := c.idle(row)
		if err != nil {
			return err
		}
		in.freed = true
		c.touch(in)
		h.Owner, h.Deadline = 0, c.now-1
		in.park(row.Seq, h)
		c.setLease(row, h.Lease)
		return nil
	})
}

// idle returns where a row is that no worker has, as a row of its own with a lease
// that has no owner.
func (c *commit) idle(row Row) (*inbox, holding, error) {
	in := c.e.ix.inboxes[row.Worker]
	if in == nil {
		return nil, holding{}, fmt.Errorf("message %d of queue %d: %w", row.Seq, row.Worker, ErrNotFound)
	}
	h, leased := in.leases[row.Seq]
	_, whole, packed := in.bundleOf(row.Seq)
	if packed {
		h, leased = whole, true
	}
	var err error
	switch {
	case leased && h.Owner != 0 && (h.Deadline >= c.now || c.e.ix.inHands(h)):
		return nil, holding{}, fmt.Errorf("message %d of queue %d runs or is about to: %w", row.Seq, row.Worker, ErrLeased)
	case packed:
		err = c.unpackRow(row)
	case !leased:
		h.band, err = c.findRow(in, row)
	}
	if err != nil {
		return nil, holding{}, err
	}
	c.e.ix.taken(h, row.Seq)
	h.n = 1
	h.Lease = Lease{Deadline: c.now - 1, Attempts: h.Attempts}
	in.park(row.Seq, h)
	in.leaseHead = min(in.leaseHead, row.Seq)
	c.setLease(row, h.Lease)
	c.touch(in)
	return in, h, nil
}

// draining is the queues that take nothing new.
type draining struct {
	any atomic.Bool
	mu  sync.Mutex
	set map[uint64]bool
}

// DrainQueue lets a queue run empty: what is posted to it from outside is refused
// with ErrDraining, and what is in it, what handlers send to it and what timers
// deliver is worked off. It ends by DrainQueue with false, or with the process.
func (r *Runner) DrainQueue(queue string, on bool) error {
	n, err := r.engine().findQueue(queue)
	if err != nil {
		return err
	}
	d := &r.draining
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.set == nil {
		d.set = map[uint64]bool{}
	}
	if delete(d.set, n); on {
		d.set[n] = true
	}
	d.any.Store(len(d.set) > 0)
	return nil
}

// refuses reports whether a queue is drained.
func (d *draining) refuses(queue uint64) bool {
	if !d.any.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set[queue]
}

func (d *draining) check(queue uint64) error {
	if d.refuses(queue) {
		return fmt.Errorf("queue %d: %w", queue, ErrDraining)
	}
	return nil
}
