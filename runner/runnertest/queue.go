package runnertest

import (
	"context"
	"strings"

	"wamble/runner"
)

var queueCases = []test{
	{name: "a name has one number, over restarts too", run: func(v *env) {
		mails, err := v.r.Queue(v.ctx, "mails")
		v.ok(err)
		bills, err := v.r.Queue(v.ctx, "bills")
		v.ok(err)
		if mails == bills {
			v.Fatalf("two names have number %d", mails)
		}
		v.restart()
		year, err := v.r.Queue(v.ctx, "2024")
		v.ok(err)
		if year == 2024 {
			v.Error("a queue named in digits has the inbox of that number")
		}
		for name, want := range map[string]uint64{"mails": mails, "bills": bills, "2024": year} {
			got, err := v.r.Queue(v.ctx, name)
			v.ok(err)
			equal(v, "number of "+name, got, want)
			equal(v, "name", v.r.QueueName(got), name)
		}
		equal(v, "name in the statistics", v.r.Stats().Inboxes[0].Name, "mails")
	}},
	{name: "a message for a queue that does not exist is refused", run: func(v *env) {
		_, err := v.r.Post(v.ctx, &runner.Message{Queue: "mials", ID: []byte("a")})
		v.is(err, runner.ErrNotFound)
		equal(v, "queues", len(v.r.Stats().Inboxes), 0)
	}},
	{name: "a name has 1 to 128 bytes of UTF-8", run: func(v *env) {
		for _, name := range []string{"", "m\xff", strings.Repeat("x", 129)} {
			_, err := v.r.Queue(v.ctx, name)
			v.is(err, runner.ErrInvalid)
		}
	}},
	{name: "a paused queue rests, over restarts too, and goes on when it is resumed", run: func(v *env) {
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
	{name: "an ordered worker that waits to try again gives back its batch when the queue is paused", run: func(v *env) {
		away := true
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Ordered: true, Batch: func(context.Context, *runner.Batched) error {
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
	{name: "a message without id or number is given both", run: func(v *env) {
		v.create("mails")
		m := runner.Message{Queue: "mails", Payload: []byte("x")}
		row, err := v.r.Post(v.ctx, &m)
		v.ok(err)
		equal(v, "number", row.Worker, m.To)
		v.shows("mails", string(m.ID), runner.Waiting)
		again := runner.Message{Queue: "mails"}
		_, err = v.r.Post(v.ctx, &again)
		v.ok(err)
		if string(again.ID) == string(m.ID) || again.To != m.To {
			v.Errorf("the second message has id %q and number %d", again.ID, again.To)
		}
	}},
	{name: "a delayed message waits for its time, over restarts", run: func(v *env) {
		v.create("mails")
		var ran []string
		handler := func(d *runner.Delivery) error { ran = append(ran, string(d.ID)); return nil }
		_, err := v.r.Post(v.ctx, &runner.Message{Queue: "mails", ID: []byte("a"), At: when(500)})
		v.ok(err)
		m := v.shows("mails", "a", runner.Scheduled)
		equal(v, "due", m.Due, when(500))
		equal(v, "list", v.ids("mails", runner.Scheduled), "a:scheduled ")
		v.restart()
		_, w := v.named("mails", handler)
		v.clock.Set(499)
		v.tick(w, 0)
		v.clock.Set(500)
		v.tick(w, 1)
		m = v.shows("mails", "a", runner.Done)
		equal(v, "posted", m.Posted, when(100))
		_, err = v.r.Post(v.ctx, &runner.Message{Queue: "mails", ID: []byte("b"), At: when(9000)})
		v.ok(err)
		v.ok(v.r.RetryMessage(v.ctx, "mails", "b"))
		v.tick(w, 1)
		_, err = v.r.Post(v.ctx, &runner.Message{Queue: "mails", ID: []byte("c"), At: when(9000)})
		v.ok(err)
		v.ok(v.r.DeleteMessage(v.ctx, "mails", "c"))
		v.shows("mails", "c", runner.Deleted)
		equal(v, "timers", v.r.Stats().Timers, 0)
		same(v, "ran", ran, []string{"a", "b"})
	}},
	{name: "a unique message is posted once while it waits, runs or has its time to come", run: func(v *env) {
		unique := func() error {
			_, err := v.r.Post(v.ctx, &runner.Message{Queue: "mails", ID: []byte("a"), Unique: true})
			return err
		}
		ran := 0
		_, w := v.named("mails", func(*runner.Delivery) error {
			ran++
			v.is(unique(), runner.ErrExists)
			return nil
		})
		v.ok(unique())
		v.is(unique(), runner.ErrExists)
		_, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			return tx.Send(&runner.Message{Queue: "mails", ID: []byte("a"), Unique: true})
		})
		v.ok(err)
		v.tick(w, 1)
		_, err = v.r.Post(v.ctx, &runner.Message{Queue: "mails", ID: []byte("a"), Unique: true, At: when(500)})
		v.ok(err)
		v.is(unique(), runner.ErrExists)
		v.clock.Set(500)
		v.tick(w, 1)
		v.ok(unique())
		v.tick(w, 1)
		equal(v, "ran", ran, 3)
		_, err = v.r.Post(v.ctx, &runner.Message{To: 7, ID: []byte("a"), Unique: true})
		v.is(err, runner.ErrInvalid)
	}},
	{name: "a unique message needs a queue with a name, in a transaction too", run: func(v *env) {
		m := runner.Message{To: 7, ID: []byte("a"), Unique: true}
		_, err := v.r.Post(v.ctx, &m)
		v.is(err, runner.ErrInvalid)
		v.update(func(tx *runner.Tx) error {
			v.is(tx.Send(&m), runner.ErrInvalid)
			v.is(tx.Arm(v.clock.Now(), &m), runner.ErrInvalid)
			return nil
		})
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "a unique message that failed waits, and does not when it is dead", run: func(v *env) {
		_, w := v.named("mails", func(d *runner.Delivery) error {
			if d.Attempts == 1 {
				return runner.Retry(nil, ms(50))
			}
			return runner.Discard(nil)
		})
		m := runner.Message{Queue: "mails", ID: []byte("a"), Unique: true}
		_, err := v.r.Post(v.ctx, &m)
		v.ok(err)
		v.tick(w, 0)
		_, err = v.r.Post(v.ctx, &m)
		v.is(err, runner.ErrExists)
		v.clock.Advance(ms(51))
		v.tick(w, 0)
		_, err = v.r.Post(v.ctx, &m)
		v.ok(err)
	}},
	{name: "a transaction sends to queues by name, now and later", run: func(v *env) {
		v.create("mails")
		_, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			v.ok(tx.Send(&runner.Message{Queue: "mails", ID: []byte("now")}))
			return tx.Arm(when(700), &runner.Message{Queue: "mails", ID: []byte("later")})
		})
		v.ok(err)
		v.shows("mails", "now", runner.Waiting)
		equal(v, "due", v.shows("mails", "later", runner.Scheduled).Due, when(700))
	}},
}
