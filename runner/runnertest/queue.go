package runnertest

import (
	"context"
	"strings"

	"wamble/runner"
)

var queueCases = []test{
	{"a name has one number, over restarts too", func(v *env) {
		v.start()
		mails, err := v.r.Queue(v.ctx, "mails")
		v.ok(err)
		bills, err := v.r.Queue(v.ctx, "bills")
		v.ok(err)
		if mails == bills {
			v.Fatalf("two names have number %d", mails)
		}
		v.restart()
		for name, want := range map[string]uint64{"mails": mails, "bills": bills, "7": 7} {
			got, err := v.r.Queue(v.ctx, name)
			v.ok(err)
			equal(v, "number of "+name, got, want)
			equal(v, "name", v.r.QueueName(got), name)
		}
		equal(v, "name in the statistics", v.r.Stats().Inboxes[0].Name, "mails")
	}},
	{"a name has 1 to 128 bytes", func(v *env) {
		v.start()
		for _, name := range []string{"", strings.Repeat("x", runner.MaxQueueName+1)} {
			_, err := v.r.Queue(v.ctx, name)
			v.is(err, runner.ErrInvalid)
		}
	}},
	{"a paused queue rests, over restarts too, and goes on when it is resumed", func(v *env) {
		v.start()
		runs := 0
		handler := func(*runner.Delivery) error { runs++; return nil }
		v.post(7, "a")
		v.ok(v.r.PauseQueue(v.ctx, "7"))
		for range 2 {
			w := v.worker(7, runner.WorkerOptions{}, handler)
			n, err := w.Tick(v.ctx)
			v.ok(err)
			equal(v, "completed while paused", n, 0)
			equal(v, "paused", v.r.Stats().Inboxes[0].Paused, true)
			if d := w.IdleSleep(); d <= 0 {
				v.Errorf("a worker of a paused queue sleeps for %v", d)
			}
			v.restart()
		}
		w := v.worker(7, runner.WorkerOptions{}, handler)
		v.ok(v.r.ResumeQueue(v.ctx, "7"))
		v.tick(w, 1)
		equal(v, "runs", runs, 1)
		v.is(v.r.PauseQueue(v.ctx, "nobody"), runner.ErrNotFound)
	}},
	{"an ordered worker that waits to try again gives back its batch when the queue is paused", func(v *env) {
		v.start()
		away := true
		w, err := v.r.NewWorker(7, runner.WorkerOptions{Ordered: true, Batch: func(context.Context, *runner.Batched) error {
			if away {
				return runner.Retry(nil, ms(1000))
			}
			return nil
		}})
		v.ok(err)
		v.post(7, "a")
		v.tick(w, 0)
		v.ok(v.r.PauseQueue(v.ctx, "7"))
		v.tick(w, 0)
		equal(v, "held", v.r.Stats().Inboxes[0].Leased, 0)
		away = false
		v.ok(v.r.ResumeQueue(v.ctx, "7"))
		v.tick(w, 1)
	}},
}
