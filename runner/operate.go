package runner

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// draining is the set of queues that refuse posts.
type draining struct {
	any atomic.Bool
	mu  sync.Mutex
	set map[uint64]bool
}

// DrainQueue lets a queue run empty: posts from outside are refused with ErrDraining, while its
// messages, those sent by handlers and those of timers are processed. It lasts until DrainQueue
// with false, or the end of the process.
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
