package runnertest

import (
	"fmt"
	"time"

	"wamble/runner"
)

var dedupeCases = []test{
	{name: "one of several with the same id, within a batch and after completion", run: func(v *env) {
		w, got := v.collector(runner.WorkerOptions{})
		v.post(7, "a", runner.Dedupe)
		v.post(7, "a", runner.Dedupe)
		v.post(7, "b", runner.Dedupe)
		v.tick(w, 2)
		v.post(7, "a", runner.Dedupe)
		v.tick(w, 0)
		same(v, "ran", *got, []string{"a", "b"})
		equal(v, "duplicates", w.Metrics().Duplicates, 2)
		same(v, "rows", v.rows(7), nil)
		v.restart()
		w, got = v.collector(runner.WorkerOptions{})
		v.post(7, "a", runner.Dedupe)
		v.tick(w, 0)
		equal(v, "ran after restart", len(*got), 0)
	}},
	{name: "effects of a duplicate are dropped with it", run: func(v *env) {
		v.post(7, "a", runner.Dedupe)
		v.post(7, "a", runner.Dedupe)
		w, err := v.r.NewWorker(7, runner.WorkerOptions{Handler: emitID})
		v.ok(err)
		v.tick(w, 1)
		same(v, "outbox", v.outbox(), []string{"a"})
	}},
	{name: "in a batch, within it and while another worker completes it", run: func(v *env) {
		other, err := v.r.NewWorker(7, runner.WorkerOptions{MaxBatch: 1, Handler: emitID})
		v.ok(err)
		for _, ordered := range []string{"x", "y"} {
			for _, id := range []string{"a", "a", "b", "c", "c"} {
				v.post(7, id+ordered, runner.Dedupe)
			}
		}
		var ran []string
		w := v.batchWorker(runner.WorkerOptions{}, func(b *runner.Batched) error {
			ran = append(ran, ids(b.Deliveries))
			if len(ran) == 1 {
				v.post(7, "ax", runner.Dedupe)
				v.tick(other, 1)
			}
			for _, d := range b.Deliveries {
				v.ok(b.Tx.Emit(d.ID))
			}
			return nil
		})
		v.ticks(w, 4)
		same(v, "outbox", v.outbox(), []string{"ax", "bx", "cx", "ay", "by", "cy"})
		equal(v, "successes", w.Metrics().Successes, 5)
		equal(v, "duplicates", w.Metrics().Duplicates, 5)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "a duplicate runs when the first one failed", run: func(v *env) {
		v.together("=a", "=a", "=b")
		calls := ""
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			if calls += string(d.ID); len(calls) == 1 {
				return runner.Discard(errHard)
			}
			return nil
		})
		v.tick(w, 2)
		equal(v, "calls", calls, "aab")
	}},
	{name: "without the flag every message runs", run: func(v *env) {
		w, got := v.collector(runner.WorkerOptions{})
		v.posts(7, "a", "a")
		v.tick(w, 2)
		equal(v, "ran", len(*got), 2)
	}},
	{name: "a failed message is not remembered", run: func(v *env) {
		calls := 0
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error {
			if calls++; calls == 1 {
				return errBusy
			}
			return nil
		})
		v.post(7, "a", runner.Dedupe)
		v.tick(w, 0)
		v.tick(w, 1)
		equal(v, "calls", calls, 2)
	}},
	{name: "ids of two workers are apart", run: func(v *env) {
		w7, _ := v.collector(runner.WorkerOptions{})
		w8 := v.worker(8, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.post(7, "a", runner.Dedupe)
		v.post(8, "a", runner.Dedupe)
		v.tick(w7, 1)
		v.tick(w8, 1)
	}},
	{name: "it expires, and the rows go", run: func(v *env) {
		w, got := v.collector(runner.WorkerOptions{Policy: &runner.Policy{DedupeFor: 10 * time.Second}})
		for i := range 600 {
			v.post(7, fmt.Sprint(i), runner.Dedupe)
		}
		v.ticks(w, 3)
		equal(v, "ran", len(*got), 600)
		v.clock.Set(10_099)
		v.post(7, "1", runner.Dedupe)
		v.tick(w, 0)
		v.clock.Set(10_100)
		v.post(7, "1", runner.Dedupe)
		v.tick(w, 1)
		v.clock.Set(30_000)
		for range 4 {
			v.tick(w, 0)
		}
		v.ok(v.r.Close())
		b, err := v.storage.Open(func(error) {})
		v.ok(err)
		left := 0
		for _, table := range []byte{5, 9} {
			v.ok(b.Scan([]byte{table}, []byte{table + 1}, func(_, _ []byte) bool { left++; return true }))
		}
		v.ok(b.Close())
		equal(v, "rows left", left, 0)
	}},
	{name: "a timer's message too", run: func(v *env) {
		w, got := v.collector(runner.WorkerOptions{})
		for range 2 {
			_, err := v.r.Arm(v.ctx, when(90), msg(7, "t", runner.Dedupe))
			v.ok(err)
			_, err = w.Tick(v.ctx)
			v.ok(err)
		}
		equal(v, "ran", len(*got), 1)
	}},
}

var priorityCases = []test{
	{name: "high goes first", run: func(v *env) {
		v.posts(7, "n1", "n2")
		v.post(7, "h", runner.HighPriority)
		w, got := v.collector(runner.WorkerOptions{MaxBatch: 1})
		v.tick(w, 1)
		same(v, "order", *got, []string{"h"})
	}},
	{name: "but ordinary ones are not starved", run: func(v *env) {
		for i := range 40 {
			v.post(7, fmt.Sprint("h", i), runner.HighPriority)
			v.post(7, fmt.Sprint("n", i))
		}
		for _, size := range []int{1, 8} {
			w, got := v.collector(runner.WorkerOptions{MaxBatch: size})
			for range 8 / size * 2 {
				_, err := w.Tick(v.ctx)
				v.ok(err)
			}
			ordinary, high := 0, 0
			for _, id := range *got {
				if id[0] == 'n' {
					ordinary++
				} else {
					high++
				}
			}
			if ordinary < 2 || high <= ordinary {
				v.Errorf("batches of %d: %d ordinary and %d high, want some ordinary and more high", size, ordinary,
					high)
			}
			v.ok(w.Remove())
		}
	}},
	{name: "a requeued message keeps its priority, also over a restart", run: func(v *env) {
		v.post(7, "h", runner.HighPriority)
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(*runner.Delivery) error { return errBusy })
		v.tick(w, 0)
		list, err := v.r.Inbox(7, 0, 10)
		v.ok(err)
		equal(v, "high", list[0].High, true)
		v.restart()
		w2, got := v.collector(runner.WorkerOptions{})
		v.tick(w2, 1)
		same(v, "ran", *got, []string{"h"})
	}},
}
