package runner

import (
	"context"
	"errors"
	"time"
)

// runBatch runs the current batch through the batch handler and settles it.
func (w *Worker) runBatch(ctx context.Context, e *engine, ahead bool, l limits) (n, ran int, err error) {
	if w.lost.Load() {
		w.recheck(e, w.cur.pos)
	}
	b := w.cur
	if len(b.rest()) == 0 {
		return 0, 1, nil
	}
	b.growOuts()
	if lone := w.strays(e, b); lone > 0 {
		n, err = w.settleRun(ctx, e, b.pos, b.pos+lone, false, l, nil)
		return n, lone, err
	}
	to := len(b.list)
	if b.singles {
		to = b.pos + 1
	}
	for i := b.pos + 1; i < to; i++ {
		if b.list[i].stray {
			to = i // up to the next one that must not be run
		}
	}
	for try := 1; ; try++ {
		n, used, err := w.batchOnce(ctx, e, b.pos, to, ahead, l)
		if errors.Is(err, ErrLeaseLost) {
			w.recheck(e, b.pos)
			return n, 1, nil
		}
		if errors.Is(err, errDuplicate) {
			return n, 1, nil // start again without it
		}
		if !errors.Is(err, errConflictInBatch) {
			return n, used, err
		}
		if try >= w.policy().RequeueAttempts {
			return w.refused(ctx, e, b.pos, to, err, l)
		}
		w.r.o.Sleep(ctx, nil, (AttemptPolicy{}).withDefaults().backoff(try-1))
	}
}

// strays opens the deliveries and returns how many at the front must not be run: malformed,
// misrouted, completed before, or out of budget.
func (w *Worker) strays(e *engine, b *batch) int {
	clear(w.ids)
	lone, front := 0, true
	for i := b.pos; i < len(b.list); i++ {
		d := &b.list[i]
		out, stray := w.precheck(e, d)
		// A repeated id waits until the first delivery with it is settled.
		d.stray = stray || w.repeats(d)
		if !stray {
			front = false
			continue
		}
		if !front {
			continue
		}
		b.outs[i], b.txs[i] = out, nil
		lone++
		if !d.skip {
			w.tally.observe(0)
			if !d.doomed {
				w.replayBatch(InboxAttempt, d, nil)
				w.replayBatch(InboxResult, d, out.err)
			}
			w.failed(d, d.Row.Seq, out)
		}
	}
	return lone
}

// batchOnce runs deliveries from..to once. used is 0 if the batch must wait.
func (w *Worker) batchOnce(ctx context.Context, e *engine, from, to int, ahead bool, l limits) (n, used int,
	err error) {
	list := w.cur.list[from:to]
	tx := &Tx{src: &txSource{e: e}}
	b := &Batched{Deliveries: list, Tx: tx, own: tx, list: list, fails: make([]error, len(list)), w: w}
	w.cur.begun.Store(int32(to))
	if !w.runs(list[0].Row.Seq, list[len(list)-1].Row.Seq) {
		w.recheck(e, from)
		return 0, 1, nil
	}
	if e.failed.Load() {
		return 0, 1, e.failure()
	}
	start := w.r.o.Now()
	begun := w.r.o.elapsed()
	for i := range list {
		w.replayBatch(InboxAttempt, &list[i], nil)
		w.waited(&list[i], begun)
		list[i].w = w
		b.dedupe = b.dedupe || list[i].Flags&Dedupe != 0
	}
	run, cancel := w.limit(w.run.ctx, &list[0])
	w.running.Add(int32(len(list)))
	defer w.running.Add(-int32(len(list)))
	w.watch()
	returned := false
	defer func() {
		if !returned {
			cancel()
			_, _, _ = w.batchEnded(ctx, e, from, to, false, l, b, start, errExited)
		}
	}()
	err = guard(func() error { return w.o.Batch(run, b) })
	returned = true
	cancel()
	return w.batchEnded(ctx, e, from, to, ahead, l, b, start, err)
}

// batchEnded settles deliveries from..to, whose handler has returned err.
func (w *Worker) batchEnded(ctx context.Context, e *engine, from, to int, ahead bool, l limits, b *Batched, start time.Time, err error) (n, used int, _ error) {
	list, tx := w.cur.list[from:to], b.own
	b.ended.Store(true)
	if err = errors.Join(err, tx.close()); err == nil {
		frames := 0
		for i := range list {
			frames += len(list[i].Frame)
		}
		err = e.fits(b.Tx, frames)
	}
	took := w.r.o.Now().Sub(start)
	if w.o.Ordered {
		for _, f := range b.fails {
			var discard *discardError
			if f != nil && !errors.As(f, &discard) && err == nil {
				err = f
			}
		}
	}
	for i := range list {
		list[i].w, list[i].took = nil, took/time.Duration(len(list))
		w.observe(took / time.Duration(len(list)))
		own := b.fails[i]
		if own == nil {
			own = err
		}
		w.replayBatch(InboxResult, &list[i], own)
		w.cur.outs[from+i], w.cur.txs[from+i] = w.outcome(w.run.ctx, own), nil
		if own != nil {
			w.failed(&list[i], list[i].Row.Seq, w.cur.outs[from+i])
		}
	}
	if err != nil && w.o.Ordered {
		return w.stall(ctx, e, from, to, err, l)
	}
	for i := range list {
		if out := &w.cur.outs[from+i]; out.verdict != verdictDone {
			*out = w.planned(&list[i], *out)
		}
	}
	var shared *Batched
	if err == nil {
		shared = b
	}
	n, err = w.settleRun(ctx, e, from, to, ahead && to == len(w.cur.list), l, shared)
	return n, to - from, err
}

// refused handles a batch whose last attempt at settling met a conflict too: its messages have
// failed. An ordered worker first delivers them one by one.
func (w *Worker) refused(ctx context.Context, e *engine, from, to int, err error, l limits) (n, used int, _ error) {
	if w.o.Ordered {
		return w.stall(ctx, e, from, to, err, l)
	}
	for i := from; i < to; i++ {
		w.cur.outs[i], w.cur.txs[i] = w.planned(&w.cur.list[i], failureOf(err)), nil
	}
	n, err = w.settleRun(ctx, e, from, to, false, l, nil)
	return n, to - from, err
}

// stall handles a failed batch of an ordered worker. After a transient failure it waits with
// the batch claimed. After any other the batch is delivered again one by one, and only the
// message that fails alone spends budget.
func (w *Worker) stall(ctx context.Context, e *engine, from, to int, err error, l limits) (n, used int, _ error) {
	out := w.outcome(w.run.ctx, err)
	switch {
	case out.hasAfter, out.verdict == verdictFree:
		w.pause(out.after)
		return 0, 0, nil
	case out.verdict == verdictDead && to-from == 1:
		n, err := w.settleRun(ctx, e, from, to, false, l, nil)
		return n, 1, err
	case to-from > 1:
		w.cur.singles = true
		return 0, 1, nil
	}
	w.cur.outs[from] = w.planned(&w.cur.list[from], out)
	n, err = w.settleRun(ctx, e, from, to, false, l, nil)
	return n, 1, err
}

func (w *Worker) replayBatch(kind ReplayKind, d *Delivery, err error) {
	seq := d.Row.Seq
	if d.FromTimer {
		kind, seq = kind+2, d.Timer.Seq
	}
	w.replay(kind, seq, d, err)
}
