package runnertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"wamble/runner"
)

var pollCases = []test{
	{name: "oldest first, own rows only", run: func(v *env) {
		v.insert(7, 10, "a")
		v.insert(7, 11, "b")
		v.insert(8, 1, "c")
		one := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error { return nil })
		v.tick(one, 1)
		same(v, "rows", v.rows(7), []uint64{11})
		many := v.worker(7, runner.WorkerOptions{MaxBatch: 10}, func(*runner.Delivery) error { return nil })
		v.tick(many, 1)
		same(v, "rows of 8", v.rows(8), []uint64{1})
		v.tick(many, 0)
	}},
	{name: "a failed message comes back at the tail and is done last", run: func(v *env) {
		v.insert(7, 1, "a")
		v.insert(7, 2, "b")
		var order []string
		failed := false
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 4}, func(d *runner.Delivery) error {
			order = append(order, fmt.Sprintf("%s@%d", d.ID, d.Row.Seq))
			if !failed {
				failed = true
				return runner.ErrConflict
			}
			return nil
		})
		v.tick(w, 2)
		same(v, "order", order, []string{"a@1", "b@2", "a@3"})
		same(v, "rows", v.rows(7), nil)
		held, parked := v.leases(7)
		equal(v, "leases", held+parked, 0)
	}},
	{name: "a hard failure is counted, requeued, and stops the worker by policy", run: func(v *env) {
		v.insert(7, 10, "a")
		fail := true
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1, Policy: &runner.Policy{StopOnError: true}},
			func(*runner.Delivery) error {
				if fail {
					return errHard
				}
				return nil
			})
		n, err := w.Tick(v.ctx)
		v.is(err, errHard)
		equal(v, "processed", n, 0)
		v.is(w.LastError(), errHard)
		same(v, "rows", v.rows(7), []uint64{11})
		held, _ := v.leases(7)
		equal(v, "held", held, 0)
		fail = false
		v.tick(w, 1)
	}},
	{name: "the budget of a message that always fails", run: func(v *env) {
		v.insert(7, 50, "a")
		calls := 0
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error { calls++; return errBusy })
		for _, want := range [][]uint64{{51}, {52}, {53}, nil} {
			v.tick(w, 0)
			same(v, "rows", v.rows(7), want)
		}
		equal(v, "calls", calls, 4)
		equal(v, "requeues", w.Metrics().Requeues, 3)
		dead := v.dead()
		equal(v, "dead letters", len(dead), 1)
		d := dead[0]
		equal(v, "cause", d.Cause, runner.CauseBudget)
		equal(v, "attempts", d.Attempts, 4)
		equal(v, "source", d.Source, at(7, 53))
		equal(v, "time", d.Time, when(100))
		equal(v, "reason", d.Reason, "busy")
	}},
	{name: "a budget of 1 sends the first failure to the dead letters", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryBudget: 1}},
			func(*runner.Delivery) error { return errBusy })
		v.tick(w, 0)
		equal(v, "requeues", w.Metrics().Requeues, 0)
		equal(v, "dead letters", len(v.dead()), 1)
	}},
	{name: "two messages with one id have a budget each", run: func(v *env) {
		v.posts(7, "same", "same")
		calls := 0
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 100},
			func(*runner.Delivery) error { calls++; return runner.ErrConflict })
		v.tick(w, 0)
		equal(v, "calls", calls, 8)
		equal(v, "dead letters", len(v.dead()), 2)
	}},
	{name: "the tail is the worker's own", run: func(v *env) {
		v.insert(7, 10, "a")
		v.insert(7, 500, "b")
		v.insert(9, 900, "c")
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error { return errBusy })
		v.tick(w, 0)
		same(v, "rows of 7", v.rows(7), []uint64{500, 501})
		same(v, "rows of 9", v.rows(9), []uint64{900})
	}},
	{name: "a malformed row leaves, the next is delivered", run: func(v *env) {
		v.ok(v.store(7, 1, []byte("junk")))
		v.insert(7, 2, "good")
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.tick(w, 1)
		dead := v.dead()
		equal(v, "dead letters", len(dead), 1)
		equal(v, "cause", dead[0].Cause, runner.CauseMalformed)
		equal(v, "attempts", dead[0].Attempts, 0)
		equal(v, "frame", string(dead[0].Frame), "junk")
	}},
	{name: "a malformed row of the largest size leaves too", unstarted: true, run: func(v *env) {
		v.opts.MaxFrame = 65530
		v.start()
		v.ok(v.store(7, 1, make([]byte, 65530)))
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.tick(w, 0)
		equal(v, "dead letters", len(v.dead()), 1)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "a misrouted message leaves at once and nothing waits for it", run: func(v *env) {
		v.insert(7, 1, "a")
		v.ok(v.store(7, 2, frame(8, "stray")))
		v.insert(7, 3, "b")
		calls := 0
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { calls++; return nil })
		v.tick(w, 2)
		equal(v, "calls", calls, 2)
		equal(v, "cause", v.dead()[0].Cause, runner.CauseMisrouted)
		v.tick(w, 0)
	}},
	{name: "hard failures end within the budget", run: func(v *env) {
		v.posts(7, "poison", "good")
		calls := 0
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 2}, func(d *runner.Delivery) error {
			if string(d.ID) == "poison" {
				calls++
				return errHard
			}
			return nil
		})
		v.ticks(w, 20)
		equal(v, "calls", calls, 4)
		equal(v, "dead letters", len(v.dead()), 1)
		equal(v, "completed", w.Steps(), 1)
	}},
	{name: "a panic is counted as any failure", run: func(v *env) {
		v.post(7, "a")
		calls := 0
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 10}, func(*runner.Delivery) error { calls++; panic("boom") })
		v.tick(w, 0)
		equal(v, "calls", calls, 4)
		equal(v, "panics", w.Metrics().Panics, 4)
		equal(v, "cause", v.dead()[0].Cause, runner.CausePanic)
		equal(v, "reason", v.dead()[0].Reason, "handler panicked: boom")
	}},
	{name: "discard", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return runner.Discard(errHard) })
		v.tick(w, 0)
		equal(v, "attempts", w.Metrics().Attempts, 1)
		equal(v, "cause", v.dead()[0].Cause, runner.CauseDiscarded)
		equal(v, "reason", v.dead()[0].Reason, "hard")
	}},
	{name: "a delayed retry waits and lets others pass", run: func(v *env) {
		v.posts(7, "slow", "fast")
		var order []string
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 8}, func(d *runner.Delivery) error {
			order = append(order, string(d.ID))
			if string(d.ID) == "slow" && d.Attempts == 1 {
				return runner.Retry(errors.New("later"), 50*time.Millisecond)
			}
			return nil
		})
		v.tick(w, 1)
		_, parked := v.leases(7)
		equal(v, "parked", parked, 1)
		equal(v, "sleep", w.IdleSleep(), ms(51))
		v.clock.Set(150)
		v.tick(w, 0)
		v.clock.Set(151)
		v.tick(w, 1)
		same(v, "order", order, []string{"slow", "fast", "slow"})
	}},
	{name: "the policy's delay doubles", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryBudget: 9, RetryDelay: ms(10),
			RetryDelayMax: ms(35)}},
			func(*runner.Delivery) error { return errHard })
		for _, most := range []int64{10, 20, 35, 35} {
			v.tick(w, 0)
			if wait := w.IdleSleep(); wait < ms(most/2+1) || wait > ms(most+1) {
				v.Errorf("it waits %v, want about %v", wait, ms(most))
			}
			v.clock.Advance(ms(most + 1))
		}
	}},
	{name: "a held row does not block those behind it", run: func(v *env) {
		v.posts(7, "held", "free")
		err := v.steal(at(7, 1), 500)
		v.ok(err)
		var seen []string
		w := v.worker(7, runner.WorkerOptions{},
			func(d *runner.Delivery) error { seen = append(seen, string(d.ID)); return nil })
		v.tick(w, 1)
		same(v, "seen", seen, []string{"free"})
		v.clock.Set(501)
		v.tick(w, 1)
		same(v, "seen", seen, []string{"free", "held"})
		equal(v, "expired", w.Metrics().Expired, 1)
	}},
	{name: "long ids do no harm", run: func(v *env) {
		v.post(7, strings.Repeat("x", 5000), runner.Dedupe)
		calls := 0
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error {
			if calls++; calls == 1 {
				return errBusy
			}
			return nil
		})
		v.tick(w, 1)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "effects are dropped when the lease was lost", run: func(v *env) {
		row := v.post(7, "a")
		h := func(d *runner.Delivery) error { return nil }
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { return h(d) })
		h = func(d *runner.Delivery) error {
			v.clock.Advance(2 * time.Second)
			return v.steal(row, 10_000)
		}
		v.tick(w, 0)
		equal(v, "leases lost", w.Metrics().LeasesLost, 1)
		same(v, "rows", v.rows(7), []uint64{1})
	}},
	{name: "a handler can renew its lease", run: func(v *env) {
		row := v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			v.clock.Advance(900 * time.Millisecond)
			v.ok(d.Renew(v.ctx))
			v.clock.Advance(900 * time.Millisecond)
			err := v.steal(row, 10_000)
			v.is(err, runner.ErrLeased)
			return nil
		})
		v.tick(w, 1)
		equal(v, "leases lost", w.Metrics().LeasesLost, 0)
	}},
	{name: "a handler whose context has ended still waits for its renewal", run: func(v *env) {
		row := v.post(7, "a")
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		check := func(renew func(context.Context) error) {
			for range 50 {
				v.clock.Advance(900 * time.Millisecond)
				v.ok(renew(ctx)) // the committer uses the deliveries until it has answered
				err := v.steal(row, 1_000_000)
				v.is(err, runner.ErrLeased)
			}
		}
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { check(d.Renew); return nil })
		v.tick(w, 1)
		v.ok(w.Remove())
		row = v.post(7, "b")
		w = v.batchWorker(runner.WorkerOptions{}, func(b *runner.Batched) error { check(b.Renew); return nil })
		v.tick(w, 1)
		equal(v, "leases lost", w.Metrics().LeasesLost, 0)
	}},
	{name: "a slow batch keeps its leases and settles as it goes", run: func(v *env) {
		v.number(7, 10)
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			held, _ := v.leases(7)
			if d.Row.Seq > 1 && held > 11-int(d.Row.Seq) {
				v.Errorf("row %d runs while %d are held", d.Row.Seq, held)
			}
			v.clock.Advance(400 * time.Millisecond)
			return nil
		})
		v.tick(w, 10)
		equal(v, "leases lost", w.Metrics().LeasesLost, 0)
	}},
}
