package runner

import (
	"fmt"
	"sync"
	"sync/atomic"
)

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
