package runnertest

import (
	"wamble/runner"
)

// every declares a schedule for the queue "mails".
func (v *env) every(spec string) {
	v.Helper()
	v.create("mails")
	v.ok(v.r.Every(v.ctx, "digest", spec, &runner.Message{Queue: "mails", Payload: []byte("all")}))
}

func (v *env) schedule() runner.ScheduleInfo {
	v.Helper()
	list := v.r.Schedules()
	if len(list) != 1 || list[0].Name != "digest" || list[0].Queue != "mails" {
		v.Fatalf("the schedules are %+v", list)
	}
	return list[0]
}

var scheduleCases = []test{
	{name: "a schedule exists once, however often it is declared and started", run: func(v *env) {
		ran := 0
		handler := func(d *runner.Delivery) error { ran++; equal(v, "payload", string(d.Payload), "all"); return nil }
		for i := range 5 {
			v.every("10s")
			equal(v, "timers", v.r.Stats().Timers, 1)
			equal(v, "next", v.schedule().Next, when(10_100))
			v.clock.Set(100 + int64(i)*1000)
			v.restart()
		}
		_, w := v.named("mails", handler)
		for i, at := range []int64{10_099, 10_100, 20_099, 20_100, 30_100} {
			v.clock.Set(at)
			v.tick(w, []int{0, 1, 0, 1, 1}[i])
		}
		equal(v, "ran", ran, 3)
		s := v.schedule()
		equal(v, "last", s.Last, when(30_100))
		equal(v, "last id", s.LastID, "digest@1970-01-01T00:00:30Z")
		v.shows("mails", s.LastID, runner.Done)
	}},
	{name: "a schedule survives jobs that fail, and tells the last result", run: func(v *env) {
		_, w := v.named("mails", func(d *runner.Delivery) error {
			v.ok(d.SetResult([]byte("half")))
			return runner.Discard(errHard)
		})
		v.every("10s")
		for at := int64(10_100); at < 60_000; at += 10_000 {
			v.clock.Set(at)
			v.tick(w, 0)
		}
		equal(v, "dead letters", len(v.dead()), 5)
		m := v.shows("mails", v.schedule().LastID, runner.Dead)
		equal(v, "error", m.Error, "hard")
		equal(v, "result", string(m.Result), "half")
	}},
	{name: "a time that comes while the last job waits is skipped", run: func(v *env) {
		_, w := v.named("mails", func(d *runner.Delivery) error { return nil })
		other := v.worker(9, runner.WorkerOptions{}, func(d *runner.Delivery) error { return nil })
		v.every("10s")
		v.ok(v.r.PauseQueue(v.ctx, "mails"))
		for at := int64(10_100); at < 50_000; at += 10_000 {
			v.clock.Set(at)
			v.tick(other, 0) // fires the timers of all
		}
		equal(v, "skipped", v.schedule().Skipped, 3)
		v.ok(v.r.ResumeQueue(v.ctx, "mails"))
		v.tick(w, 1)
		v.clock.Set(50_100)
		v.tick(w, 1)
	}},
	{name: "times at which nothing ran are made up for once", run: func(v *env) {
		v.every("10s")
		v.ok(v.r.Close())
		v.clock.Set(1_000_000)
		v.start()
		_, w := v.named("mails", func(d *runner.Delivery) error { return nil })
		v.tick(w, 1)
		equal(v, "next", v.schedule().Next, when(1_000_100))
	}},
	{name: "a schedule that is declared otherwise is replaced, and can be deleted", run: func(v *env) {
		v.every("10s")
		v.every("1m")
		equal(v, "timers", v.r.Stats().Timers, 1)
		equal(v, "next", v.schedule().Next, when(60_100))
		v.every("0 8 * * *")
		equal(v, "next", v.schedule().Next, when(8*3600_000))
		v.restart()
		equal(v, "schedule", v.schedule().Schedule, "0 8 * * *")
		v.ok(v.r.DeleteSchedule(v.ctx, "digest"))
		v.is(v.r.DeleteSchedule(v.ctx, "digest"), runner.ErrNotFound)
		equal(v, "timers", v.r.Stats().Timers, 0)
		v.restart()
		equal(v, "schedules", len(v.r.Schedules()), 0)
	}},
	{name: "a schedule is run at once on demand, and goes on; to delete its message ends it", run: func(v *env) {
		_, w := v.named("mails", func(d *runner.Delivery) error { return nil })
		v.every("10s")
		v.ok(v.r.RetryMessage(v.ctx, "mails", "digest"))
		v.tick(w, 1)
		equal(v, "next", v.schedule().Next, when(10_100))
		v.ok(v.r.DeleteMessage(v.ctx, "mails", "digest"))
		equal(v, "schedules", len(v.r.Schedules()), 0)
	}},
	{name: "what is no schedule is refused", run: func(v *env) {
		v.is(v.r.Every(v.ctx, "x", "often", &runner.Message{Queue: "mails"}), runner.ErrInvalid)
		v.is(v.r.Every(v.ctx, "", "1h", &runner.Message{Queue: "mails"}), runner.ErrInvalid)
		v.is(v.r.Every(v.ctx, "x", "1h", &runner.Message{To: 7}), runner.ErrInvalid)
	}},
}
