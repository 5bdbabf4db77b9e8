package runnertest

import (
	"context"
	"sync/atomic"
	"time"

	"wamble/runner"
)

var workerCases = []test{
	{name: "a tick", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 4}, func(*runner.Delivery) error { return nil })
		v.tick(w, 1)
		equal(v, "id", w.ID(), 7)
	}},
	{name: "a lease held by another until long after, by the injected clock", run: func(v *env) {
		row := v.post(7, "a")
		err := v.steal(row, 60_100)
		v.ok(err)
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.tick(w, 0)
		v.clock.Set(120_100)
		v.tick(w, 1)
	}},
	{name: "stopped workers and stopped runners do nothing", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		w.Stop()
		_, err := w.Tick(v.ctx)
		v.is(err, runner.ErrStopped)
		equal(v, "last error", w.LastError(), nil)
		v.is(w.Join(), runner.ErrStopped)
	}},
	{name: "start, start twice, stop, join, start again", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		done := make(chan string, 10)
		w := v.worker(7, runner.WorkerOptions{MaxIdle: time.Hour},
			func(d *runner.Delivery) error { done <- string(d.ID); return nil })
		for _, id := range []string{"first", "second"} {
			v.ok(w.Start(v.ctx))
			v.is(w.Start(v.ctx), runner.ErrStarted)
			v.post(7, id)
			equal(v, "delivered", <-done, id)
			w.Stop() // wakes it from a sleep of an hour
			v.ok(w.Join())
		}
	}},
	{name: "the context ends a worker that sleeps", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		ctx, cancel := context.WithCancel(v.ctx)
		w := v.worker(7, runner.WorkerOptions{MaxIdle: time.Hour}, func(*runner.Delivery) error { return nil })
		v.ok(w.Start(ctx))
		cancel()
		v.ok(w.Join())
	}},
	{name: "a timer armed while the worker sleeps wakes it in time", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		done := make(chan string, 1)
		w := v.worker(7, runner.WorkerOptions{MaxIdle: time.Hour},
			func(d *runner.Delivery) error { done <- string(d.ID); return nil })
		v.ok(w.Start(v.ctx))
		_, err := v.r.Arm(v.ctx, time.Now().Add(ms(5)), msg(7, "t"))
		v.ok(err)
		equal(v, "fired", <-done, "t")
	}},
	{name: "a handler that stops its worker by policy", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{StopOnError: true}},
			func(*runner.Delivery) error { return errHard })
		v.ok(w.Start(v.ctx))
		v.is(w.Join(), errHard)
		v.is(w.LastError(), errHard)
	}},
	{name: "what was claimed but not run is given back uncounted", run: func(v *env) {
		v.number(7, 5)
		var w *runner.Worker
		w = v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			if d.Row.Seq == 2 {
				w.Stop()
			}
			return nil
		})
		v.ok(w.Start(v.ctx))
		v.ok(w.Join())
		same(v, "rows", v.rows(7), []uint64{3, 4, 5})
		held, _ := v.leases(7)
		equal(v, "held", held, 0)
		var attempts []uint32
		next := v.worker(7, runner.WorkerOptions{},
			func(d *runner.Delivery) error { attempts = append(attempts, d.Attempts); return nil })
		v.tick(next, 3)
		same(v, "attempts", attempts, []uint32{1, 1, 1})
	}},
	{name: "quiesce stops the drain, posting goes on, resume", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		var n atomic.Int32
		done := make(chan struct{}, 100)
		w := v.worker(7, runner.WorkerOptions{MaxIdle: time.Hour},
			func(*runner.Delivery) error { n.Add(1); done <- struct{}{}; return nil })
		v.ok(w.Start(v.ctx))
		v.post(7, "a")
		<-done
		v.ok(v.r.Quiesce(v.ctx))
		v.post(7, "b")
		v.tick(w, 0)
		held, _ := v.leases(7)
		equal(v, "held", held, 0)
		v.ok(v.r.Flush())
		v.r.Resume()
		<-done
		equal(v, "delivered", n.Load(), 2)
	}},
	{name: "a worker that was held up does not take over from itself", run: func(v *env) {
		v.number(7, 6)
		done := make(chan struct{})
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 2}, func(d *runner.Delivery) error {
			equal(v, "attempts", d.Attempts, 1)
			v.clock.Advance(3 * time.Second)
			if d.Row.Seq == 6 {
				close(done)
			}
			return nil
		})
		v.ok(w.Start(v.ctx))
		<-done
		w.Stop()
		v.ok(w.Join())
		equal(v, "leases lost", w.Metrics().LeasesLost, 0)
		equal(v, "completed", w.Steps(), 6)
	}},
	{name: "removing a worker", run: func(v *env) {
		w := v.worker(7, runner.WorkerOptions{Ordered: true}, func(*runner.Delivery) error { return nil })
		_, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return nil }})
		v.is(err, runner.ErrBusy)
		v.ok(w.Remove())
		v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
	}},
	{name: "two workers share an inbox", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		const total = 500
		seen := make([]atomic.Int32, total+1)
		var left atomic.Int32
		left.Store(total)
		done := make(chan struct{})
		h := func(d *runner.Delivery) error {
			if seen[d.Row.Seq].Add(1); left.Add(-1) == 0 {
				close(done)
			}
			return nil
		}
		for range 2 {
			// This is the real clock: on a busy machine a claim may take long.
			w := v.worker(7, runner.WorkerOptions{MaxBatch: 7, Policy: &runner.Policy{LeaseTTL: time.Hour}}, h)
			v.ok(w.Start(v.ctx))
		}
		v.number(7, total)
		<-done
		for i := 1; i <= total; i++ {
			if got := seen[i].Load(); got != 1 {
				v.Errorf("row %d ran %d times", i, got)
			}
		}
	}},
}
