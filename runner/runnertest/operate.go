package runnertest

import (
	"errors"
	"slices"

	"wamble/runner"
)

var operateCases = []test{
	{name: "a message that waits is deleted, and its neighbours are not", run: func(v *env) {
		g := v.r.NewGroup(func(*runner.Group, error) {})
		for _, id := range []string{"a", "b", "c"} {
			v.ok(g.Add(&runner.Message{To: 7, ID: []byte(id)}))
		}
		v.ok(v.r.Submit(g)) // one row of three messages
		v.post(7, "high", runner.HighPriority)
		v.ok(v.r.DeleteMessage(v.ctx, "7", "b"))
		v.is(v.r.DeleteMessage(v.ctx, "7", "b"), runner.ErrNotFound)
		v.is(v.r.DeleteMessage(v.ctx, "8", "a"), runner.ErrNotFound)
		v.restart()
		same(v, "rows", v.rows(7), []uint64{1, 3, 4})
		var ran []string
		w := v.worker(7, runner.WorkerOptions{},
			func(d *runner.Delivery) error { ran = append(ran, string(d.ID)); return nil })
		v.tick(w, 3)
		equal(v, "runs", len(ran), 3)
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
	}},
	{name: "a message that was never claimed is deleted before anybody sees it", run: func(v *env) {
		for _, flags := range []runner.Flags{0, runner.HighPriority} {
			v.post(7, "a", flags)
			v.ok(v.r.DeleteMessage(v.ctx, "7", "a"))
		}
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { v.Error("it runs"); return nil })
		v.tick(w, 0)
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
	}},
	{name: "a message that runs is neither deleted nor retried", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			v.is(v.r.DeleteMessage(v.ctx, "7", "a"), runner.ErrLeased)
			v.is(v.r.RetryMessage(v.ctx, "7", "a"), runner.ErrLeased)
			return nil
		})
		v.tick(w, 1)
	}},
	{name: "a message under which a process died is deleted or retried", run: func(v *env) {
		v.clock.Set(1000)
		v.together("a", "b", "c")
		v.claimAndDie(runner.WorkerOptions{})
		v.ok(v.r.PauseQueue(v.ctx, "7"))
		m := v.shows("7", "a", runner.Waiting)
		equal(v, "attempts", m.Attempts, 1)
		v.ok(v.r.DeleteMessage(v.ctx, "7", "a"))
		v.ok(v.r.RetryMessage(v.ctx, "7", "b"))
		v.ok(v.r.ResumeQueue(v.ctx, "7"))
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 2)
		slices.Sort(*got)
		same(v, "the rest", *got, []string{"b", "c"})
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
	}},
	{name: "a message that waits for its next attempt is delivered at once", run: func(v *env) {
		v.post(7, "a")
		var attempts []uint32
		fail := errors.New("away")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryDelay: ms(60_000)}},
			func(d *runner.Delivery) error {
				attempts = append(attempts, d.Attempts)
				return fail
			})
		v.tick(w, 0)
		v.tick(w, 0)
		same(v, "attempts before", attempts, []uint32{1})
		v.ok(v.r.RetryMessage(v.ctx, "7", "a"))
		fail = nil
		v.tick(w, 1)
		same(v, "attempts after", attempts, []uint32{1, 2})
		v.is(v.r.RetryMessage(v.ctx, "7", "a"), runner.ErrNotFound)
	}},
	{name: "a message that waits for its next attempt is deleted", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryDelay: ms(60_000)}},
			func(*runner.Delivery) error { return errHard })
		v.tick(w, 0)
		v.ok(v.r.DeleteMessage(v.ctx, "7", "a"))
		v.restart()
		same(v, "rows", v.rows(7), nil)
		held, parked := v.leases(7)
		equal(v, "leases", held+parked, 0)
	}},
	{name: "a queue that is drained takes nothing new and is worked off", run: func(v *env) {
		v.post(7, "before")
		v.ok(v.r.DrainQueue("7", true))
		_, err := v.r.Post(v.ctx, msg(7, "after"))
		v.is(err, runner.ErrDraining)
		g := v.r.NewGroup(func(*runner.Group, error) { v.Error("a refused group is called back") })
		v.ok(g.Add(&runner.Message{To: 7, ID: []byte("group")}))
		v.is(v.r.Submit(g), runner.ErrDraining)
		v.post(8, "elsewhere")
		equal(v, "draining", v.r.Stats().Inboxes[0].Draining, true)
		ran := 0
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { ran++; return nil })
		v.tick(w, 1)
		v.ok(v.r.DrainQueue("7", false))
		v.post(7, "again")
		v.tick(w, 1)
		equal(v, "draining", v.r.Stats().Inboxes[0].Draining, false)
		v.is(v.r.DrainQueue("nobody", true), runner.ErrNotFound)
	}},
}
