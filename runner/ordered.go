package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// window has the messages that an ordered worker with Concurrency n is processing: n lanes run
// the messages of a claim, and the worker's goroutine hands them out and settles them, both in
// the order of their numbers.
//
//	settled │ ended, their turn has come │ some run, some have ended │ not begun
//	      from                         done                        next
//
// Each message runs in a transaction of its own on the committed state. When its turn comes,
// everything that it has read is validated: if an earlier message has changed that, it runs
// again, after all earlier ones. Nothing is settled after the first message that was not; the
// messages after that one run again.
type window struct {
	w       *Worker
	e       *engine
	b       *batch
	jobs    chan laneJob
	results chan laneResult
	lanes   sync.WaitGroup
	halt    atomic.Bool // jobs that have not begun are not run

	from, done, next int
	ready            []bool // by index in the batch: it has ended
	out              int    // number of jobs handed out and not returned
	stop             bool   // the last one below done stays where it is
}

// laneJob is a delivery for a lane. It is a copy, because a settlement may change the one in
// the batch.
type laneJob struct {
	at    int
	d     Delivery
	ctx   context.Context
	start time.Duration
	tx    *Tx
}

// laneResult is the result of a run; at is negative if it has not begun.
type laneResult struct {
	at         int
	start, end time.Duration
	result     []byte
	ctx        context.Context
	tx         *Tx
	err        error
}

// runWindow is runEach for a started ordered worker with Concurrency above 1.
func (w *Worker) runWindow(ctx context.Context, e *engine, l limits) (n, ran int, err error) {
	b := w.cur
	b.growOuts()
	v := &window{w: w, e: e, b: b, from: b.pos, done: b.pos, next: b.pos, ready: make([]bool, len(b.list))}
	v.open(min(w.o.Concurrency, len(b.rest())))
	defer v.close()
	due := w.r.o.elapsed() + settleEvery
	for {
		v.handOut(ctx)
		v.advance()
		if v.done > v.from && (v.stop || v.out == 0 || w.r.o.elapsed() >= due) {
			to := v.done
			done, err := w.settleRun(ctx, e, v.from, to, to == len(b.list) && !v.stop, l, nil)
			n += done
			if err != nil || v.stop || b.pos < to || to >= len(b.list) {
				return n, 1, err
			}
			v.from, due = to, w.r.o.elapsed()+settleEvery
			for i := to; i < v.next; i++ {
				w.repeats(&b.list[i]) // they are running: the settlement has cleared w.ids
			}
			continue
		}
		if v.out == 0 {
			if w.lost.Load() {
				w.recheck(e, b.pos)
			}
			return n, 1, nil
		}
		v.take(<-v.results)
	}
}

// open starts the lanes. The channels hold twice as many jobs as there are lanes, so that lanes
// have work during a settlement.
func (v *window) open(lanes int) {
	v.jobs, v.results = make(chan laneJob, 2*lanes), make(chan laneResult, 2*lanes)
	for range lanes {
		v.lanes.Go(func() { _ = guard(v.lane) })
	}
}

// close waits for the lanes. Their further results are dropped.
func (v *window) close() {
	v.halt.Store(true)
	close(v.jobs)
	v.lanes.Wait()
	for ; v.out > 0; v.out-- {
		if res := <-v.results; res.at >= 0 {
			v.w.observe(res.end - res.start)
		}
	}
}

func (v *window) lane() error {
	var job laneJob
	defer func() {
		if job.d.exited {
			v.results <- v.ended(&job, errExited)
			v.lanes.Go(func() { _ = guard(v.lane) })
		}
	}()
	for job = range v.jobs {
		var res laneResult
		err := guard(func() error { res = v.runJob(&job); return nil })
		if err != nil {
			res = laneResult{at: job.at, ctx: job.ctx, tx: job.tx, err: err}
		}
		v.results <- res
	}
	return nil
}

// runJob runs a delivery on a lane.
func (v *window) runJob(job *laneJob) laneResult {
	if v.halt.Load() || v.e.failed.Load() {
		return laneResult{at: -1}
	}
	job.start, job.tx = v.w.r.o.elapsed(), v.b.tx(job.at, &txSource{e: v.e})
	job.d.w = v.w
	return v.ended(job, v.w.call(job.ctx, job.tx, &job.d))
}

// ended returns the result of a job whose handler has returned err.
func (v *window) ended(job *laneJob, err error) laneResult {
	job.d.w = nil
	if bad := job.tx.close(); bad != nil {
		err = errors.Join(err, bad)
	}
	if err == nil {
		err = v.e.fits(job.tx, len(job.d.Frame))
	}
	return laneResult{at: job.at, start: job.start, end: v.w.r.o.elapsed(), result: job.d.result, ctx: job.ctx, tx: job.tx, err: err}
}

// handOut gives jobs to the lanes while there is room, in the order of the batch.
func (v *window) handOut(ctx context.Context) {
	w, list := v.w, v.b.list
	for v.next < len(list) && v.out < cap(v.jobs) && !v.stop && ctx.Err() == nil && !w.stopped.Load() && !w.held() && !v.e.failed.Load() {
		d := &list[v.next]
		if w.repeats(d) && v.next > v.from {
			return // whether it runs is known only when the first one is settled
		}
		if !w.runs(list[v.from].Row.Seq, d.Row.Seq) {
			return
		}
		d.at = v.next
		if out, away := w.turnAway(v.e, d); away {
			v.b.outs[v.next], v.b.txs[v.next], v.ready[v.next] = out, nil, true
		} else {
			attempt, _, seq := d.events()
			w.replay(attempt, seq, d, nil)
			v.jobs <- laneJob{at: v.next, d: *d, ctx: w.run.ctx}
			v.out++
		}
		v.next++
	}
}

// take records the result of a run.
func (v *window) take(res laneResult) {
	v.out--
	if res.at < 0 {
		return
	}
	w, d := v.w, &v.b.list[res.at]
	w.waited(d, res.start)
	d.took, d.result = res.end-res.start, res.result
	w.observe(d.took)
	if d.FromTimer {
		w.tally.TimersFired++
	}
	_, result, seq := d.events()
	w.replay(result, seq, d, res.err)
	out := w.outcome(res.ctx, res.err)
	if res.err != nil {
		w.failed(d, seq, out)
	}
	// A failure keeps its transaction, which must be validated: it may have read a state that
	// was never committed.
	v.b.outs[res.at], v.b.txs[res.at], v.ready[res.at] = out, res.tx, true
}

// advance moves done over finished deliveries, up to the first that stays in place.
func (v *window) advance() {
	for v.done < v.next && v.ready[v.done] && !v.stop {
		out := &v.b.outs[v.done]
		if out.verdict != verdictDone {
			*out = v.w.planned(&v.b.list[v.done], *out)
			v.stop = out.verdict == verdictHold || out.verdict == verdictPause
		}
		v.done++
	}
	if v.stop {
		v.halt.Store(true)
	}
}
