package runner

import (
	"context"
	"fmt"
	"math"
	"time"
)

// keptRows is the rows of a claim, and when its leases are to be renewed (ms). The index lock
// guards it.
type keptRows struct {
	runs    []rowRun
	renewAt int64
}

// renewEvery returns how long after a claim or a renewal its leases are renewed.
func (p Policy) renewEvery() time.Duration { return max(p.LeaseTTL/3, time.Millisecond) }

// startKeeper starts the keeper with the first worker; r.mu is held. With an Options.Now there
// is no keeper: leases are not renewed automatically, but no row is taken from a running worker
// either.
func (r *Runner) startKeeper() {
	if r.kept == nil && !r.o.ownClock {
		r.kept = make(chan struct{})
		go r.keepLeases()
	}
}

// pokeKeeper makes the keeper read the policies again: there is another worker.
func (r *Runner) pokeKeeper() {
	select {
	case r.keeper <- struct{}{}:
	default:
	}
}

func (r *Runner) stopKeeper() {
	r.mu.Lock()
	close(r.closing)
	kept := r.kept
	r.mu.Unlock()
	if kept != nil {
		<-kept
	}
}

// keepLeases renews the leases of running workers until the runner is closed.
func (r *Runner) keepLeases() {
	defer close(r.kept)
	for {
		every := time.Hour
		for _, w := range r.allWorkers() {
			every = min(every, w.policy().renewEvery())
		}
		t := time.NewTimer(every)
		select {
		case <-t.C:
			_ = guard(r.renewKept) // a failed runner reports that to its workers
		case <-r.keeper:
			t.Stop()
		case <-r.closing:
			t.Stop()
			return
		}
	}
}

// renewKept renews all due leases in one commit.
func (r *Runner) renewKept() (err error) {
	e := r.engine()
	defer e.recover(&err)
	now := e.now()
	var due []*Worker
	workers := r.allWorkers()
	e.ix.mu.Lock()
	for _, w := range workers {
		if w.active.Load() > 0 && min(w.batches[0].kept.renewAt, w.batches[1].kept.renewAt) <= now {
			due = append(due, w)
		}
	}
	e.ix.mu.Unlock()
	if len(due) == 0 {
		return nil
	}
	return e.do(context.Background(), func(c *commit) error {
		for _, w := range due {
			w.renewIn(c)
		}
		return nil
	})
}

// renewIn renews the leases of all rows that w holds. A batch without leases is not checked
// again before its next claim.
func (w *Worker) renewIn(c *commit) {
	in, me, p := c.e.ix.inbox(w.id), w.owner(c.e), w.policy()
	deadline := later(c.now, p.LeaseTTL.Milliseconds())
	for _, b := range w.batches {
		if b.kept.renewAt > c.now {
			continue
		}
		b.kept.renewAt = math.MaxInt64
		for _, run := range b.kept.runs {
			mine := false
			in.between(run.lo, run.hi, func(seq uint64, h holding) {
				if h.Owner != me {
					return
				}
				mine = true
				if h.Deadline < deadline {
					h.Deadline = deadline
					in.hold(seq, h)
					c.setLease(Row{in.worker, seq}, h.lease)
				}
			})
			if mine {
				b.kept.renewAt = later(c.now, p.renewEvery().Milliseconds())
				in.expiry.push(expirySpan{deadline, run})
			}
		}
	}
}

// renew extends the leases of deliveries that w has claimed.
func (w *Worker) renew(ctx context.Context, list []Delivery) error {
	// No cancellation: the committer uses the deliveries until it has answered.
	return w.r.engine().do(context.WithoutCancel(ctx), func(c *commit) error {
		deadline := later(c.now, w.policy().LeaseTTL.Milliseconds())
		for i := range list {
			if err := c.extend(&list[i], deadline); err != nil {
				return err
			}
		}
		return nil
	})
}

// extend sets a new deadline for the row of d, or for the bundle that d is in.
func (c *commit) extend(d *Delivery, deadline int64) error {
	in, row := c.e.ix.inbox(d.Row.Worker), d.Row
	if in.whole(d) {
		row.Seq -= uint64(d.nth)
	}
	_, h, err := c.held(row, d.lease)
	if err == nil && h.Deadline != deadline {
		h.Deadline = deadline
		in.park(row.Seq, h)
		c.setLease(row, h.lease)
	}
	return err
}

// owner returns the owner of w's leases in e.
func (w *Worker) owner(e *engine) uint64 { return owner(e.boot.epoch, w.number) }

// activate counts the callers that run w, so that no row is taken from a running worker.
func (w *Worker) activate(by int32) {
	e := w.r.engine()
	e.ix.mu.Lock()
	w.active.Add(by)
	e.ix.mu.Unlock()
}

// taken tells the worker that held a row, if there is one, that another claimant has taken it.
func (ix *index) taken(h holding, seq uint64) {
	w := ix.owners[h.Owner]
	if w == nil {
		return
	}
	w.lost.Store(true) // must precede reading the running rows, see runs
	lo := w.runLo.Load()
	hi := lo
	if w.spans() {
		hi = w.runHi.Load()
	}
	if lo <= seq && seq <= hi {
		w.cancelRun(fmt.Errorf("row %d of worker %d: %w", seq, w.id, ErrLeaseLost))
	}
}

// runs records that rows lo to hi of the current batch are running, and reports whether no row
// was lost; if one was, recheck finds it. A claimant that takes a row sets lost and then reads
// the running rows, so that one of the two sees the other's write.
func (w *Worker) runs(lo, hi uint64) bool {
	if w.spans() {
		w.runHi.Store(hi)
	}
	w.runLo.Store(lo)
	return !w.lost.Load()
}

// spans reports whether w itself runs several rows at a time.
func (w *Worker) spans() bool { return w.o.Batch != nil || w.o.Ordered && w.o.Concurrency > 1 }

// recheck drops deliveries of the current batch from place from on, and of the next batch,
// whose rows another claimant has taken. An ordered worker releases what follows them, because
// it must not pass them. Later handlers get a context that has not ended.
func (w *Worker) recheck(e *engine, from int) {
	w.lost.Store(false)
	cut := -1 // place of the first dropped delivery
	for i, b := range [2]*batch{w.cur, w.nxt} {
		if i == 1 {
			from = b.pos
		}
		at := w.dropLost(e, b, from)
		if cut < 0 && at >= 0 {
			cut = at
		} else if cut >= 0 {
			at = from
		}
		if w.o.Ordered && cut >= 0 {
			w.release(e, b, at)
		}
	}
	w.renewRun()
}

// dropLost removes deliveries from place from of b on whose lease was lost, and returns the
// place of the first, or -1.
func (w *Worker) dropLost(e *engine, b *batch, from int) (cut int) {
	cut = -1
	var gone []Delivery
	e.ix.mu.Lock()
	in := e.ix.inbox(w.id)
	b.list = b.list[:min(len(b.list), len(b.held))] // the others were given back
	kept := b.list[:min(from, len(b.list))]
	for i := len(kept); i < len(b.list); i++ {
		d := &b.list[i]
		if h, ok := in.leases[d.Row.Seq]; in.whole(d) || ok && h.same(d.lease) {
			kept = append(kept, *d)
			continue
		}
		if gone = append(gone, *d); cut < 0 {
			cut = i
		}
	}
	b.list, b.held = kept, kept
	e.ix.mu.Unlock()
	for i := range gone {
		w.tally.LeasesLost++
		w.logOf(&gone[i], LogEvent{Kind: LogNonRetryable, Seq: gone[i].Row.Seq, Err: ErrLeaseLost})
	}
	return cut
}

// beginRun creates the context of the next handlers, which ends with parent, or when their row
// is lost.
func (w *Worker) beginRun(parent context.Context) {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.parent, w.run.over = parent, false
	w.run.ctx, w.run.cancel = context.WithCancelCause(parent)
}

func (w *Worker) endRun() { w.cancelRun(nil) }

// cancelRun ends the context of the running handler.
func (w *Worker) cancelRun(cause error) {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	if w.run.cancel != nil {
		w.run.cancel(cause)
	}
}

// renewRun replaces a context that has ended because of a lost row.
func (w *Worker) renewRun() {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	if w.run.ctx.Err() != nil && w.run.parent.Err() == nil && !w.run.over {
		w.run.ctx, w.run.cancel = context.WithCancelCause(w.run.parent)
	}
}
