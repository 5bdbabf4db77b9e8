package runner

import (
	"context"
	"math"
	"slices"
	"time"
)

// claimFor is how much work a worker claims at once, estimated from the duration of its last
// messages.
const claimFor = 100 * time.Millisecond

// shareFrom is how much work is divided among the workers of an inbox. Less is faster in one place.
const shareFrom = time.Millisecond

// share returns how many of at most rows messages w claims: no more than claimFor allows, and
// an equal share of what waits if other workers of the inbox are active too and it is much work.
func (w *Worker) share(in *inbox, now int64, rows int) int {
	if w.o.Ordered {
		return rows
	}
	if w.pace > 0 && w.o.Batch == nil {
		rows = max(1, min(rows, int(claimFor/w.pace)))
	}
	n, slow := 0, false
	for _, x := range in.workers {
		if x.active.Load() > 0 {
			n++
		}
		slow = slow || x.slow
	}
	if n < 2 {
		return rows
	}
	free := int(min(in.count, math.MaxInt32)) - in.held
	if !in.more(now) {
		free += len(in.ready) - in.parked
	}
	least := 1
	if w.paced && w.o.Batch == nil && !slow {
		least = int(min(shareFrom/max(w.pace, 1), math.MaxInt32))
	}
	return max(1, min(rows, max(least, (free+n-1)/n)))
}

// shareAfter is the interval at which a running handler is looked at. If the same one runs at two
// looks and another worker of the inbox is idle, what its worker has claimed after it is given
// back.
const shareAfter = 10 * time.Millisecond

// watch plans a look at w, which has just begun to run a handler. It is called after w.running
// has risen, and look reads that after it has reset w.watched, so that one of the two sees the
// other's write.
func (w *Worker) watch() {
	if !w.o.Ordered && !w.r.o.ownClock && !w.watched.Load() && w.watched.CompareAndSwap(false, true) {
		w.lookIn(shareAfter, 0)
	}
}

func (w *Worker) lookIn(wait time.Duration, row uint64) {
	time.AfterFunc(wait, func() { _ = guard(func() error { w.look(wait, row); return nil }) })
}

// look is called wait after the look at which w ran row, or after w began to run if row is 0.
func (w *Worker) look(wait time.Duration, row uint64) {
	now := w.runLo.Load()
	switch {
	case w.running.Load() == 0:
		w.watched.Store(false)
		if w.running.Load() > 0 {
			w.watch()
		}
		return
	case now != row:
		wait = shareAfter
	default:
		wait = min(2*wait, time.Second)
		if w.canGive() {
			_ = w.r.engine().do(context.Background(), func(c *commit) error { return w.giveRest(c, row) })
		}
	}
	w.lookIn(wait, now)
}

// canGive reports whether w has claimed what it has not begun to run, and another worker of its
// inbox has nothing to do.
func (w *Worker) canGive() bool {
	ix := &w.r.engine().ix
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return slices.ContainsFunc(w.batches[:], func(b *batch) bool { return len(b.notBegun()) > 0 }) &&
		slices.ContainsFunc(ix.inbox(w.id).workers, func(x *Worker) bool { return x.idle.Load() && !x.held() })
}

// notBegun returns the deliveries that the worker holds and has not begun to run; the index is
// locked.
func (b *batch) notBegun() []Delivery { return b.held[min(int(b.begun.Load()), len(b.held)):] }

// giveRest frees what w has claimed and not begun to run, if it still runs row. The deliveries do
// not count.
func (w *Worker) giveRest(c *commit, row uint64) error {
	if w.runLo.Load() != row || w.running.Load() == 0 {
		return nil
	}
	w.lost.Store(true) // must precede reading begun, see runs
	in := c.e.ix.inbox(w.id)
	for _, b := range w.batches {
		rest := b.notBegun()
		if len(rest) == 0 {
			continue
		}
		if rest[0].nth > 0 && in.whole(&rest[0]) {
			if err := c.unpackRow(rest[0].Row); err != nil {
				return err
			}
		}
		b.held = b.held[:len(b.held)-len(rest)]
		for i := range rest {
			d := &rest[i]
			if h, ok := in.leases[d.Row.Seq]; ok && h.same(d.lease) {
				h.Owner, h.Deadline = 0, c.now-1
				h.Attempts--
				in.park(d.Row.Seq, h)
				c.setLease(d.Row, h.lease)
			}
		}
		w.slow, in.split = true, true
		c.touch(in)
	}
	return nil
}
