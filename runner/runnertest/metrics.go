package runnertest

import (
	"context"

	"wamble/runner"
)

var metricsCases = []test{
	{name: "the time in the queue is counted once, to the first delivery", run: func(v *env) {
		v.post(7, "a")
		v.clock.Advance(ms(40))
		v.post(7, "b")
		v.clock.Advance(ms(200))
		fail := true
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 2, Policy: &runner.Policy{RetryDelay: ms(1000)}},
			func(d *runner.Delivery) error {
				v.clock.Advance(ms(5))
				if fail {
					return errHard
				}
				return nil
			})
		v.tick(w, 0)
		m := v.r.Metrics()[7]
		equal(v, "messages", m.Waiting.Count(), 2)
		equal(v, "first, second and the run before it", m.Waiting.Total, ms(240+200+5))
		equal(v, "longest", m.Waiting.Max, ms(240))
		equal(v, "runs", m.Latency.Total, ms(10))
		fail = false
		v.clock.Advance(ms(2000))
		v.tick(w, 2)
		m = v.r.Metrics()[7]
		equal(v, "messages after the retries", m.Waiting.Count(), 2)
		equal(v, "runs after the retries", m.Latency.Count(), 4)
	}},
	{name: "the messages of a batch have waited until it runs", run: func(v *env) {
		v.post(7, "a")
		v.clock.Advance(ms(300))
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Batch: func(context.Context, *runner.Batched) error { return nil }})
		v.ok(err)
		v.tick(w, 1)
		m := v.r.Metrics()[7]
		equal(v, "messages", m.Waiting.Count(), 1)
		equal(v, "time", m.Waiting.Total, ms(300))
	}},
	{name: "the counters of a queue are those of all its workers, also of those that are gone", run: func(v *env) {
		for range 2 {
			w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
			v.post(7, "a")
			v.tick(w, 1)
			v.ok(w.Remove())
		}
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.post(7, "a")
		v.tick(w, 1)
		equal(v, "successes", v.r.Metrics()[7].Successes, 3)
		equal(v, "queues", len(v.r.Metrics()), 1)
	}},
}
