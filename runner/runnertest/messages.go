package runnertest

import (
	"fmt"

	"wamble/runner"
)

// named creates a queue, and a worker for it.
func (v *env) named(name string, h func(d *runner.Delivery) error) (uint64, *runner.Worker) {
	v.Helper()
	n, err := v.r.Queue(v.ctx, name)
	v.ok(err)
	return n, v.worker(n, runner.WorkerOptions{}, h)
}

// create creates a queue without a worker.
func (v *env) create(name string) {
	v.Helper()
	_, err := v.r.Queue(v.ctx, name)
	v.ok(err)
}

func (v *env) shows(queue, id string, want runner.MessageState) runner.MessageInfo {
	v.Helper()
	m, err := v.r.Message(queue, id)
	v.ok(err)
	if m.State != want || m.ID != id || m.Queue != queue {
		v.Fatalf("message %q of %s is %s, want %q of %s, %s", m.ID, m.Queue, m.State, id, queue, want)
	}
	return m
}

// ids returns the ids of the messages of a list.
func (v *env) ids(queue string, state runner.MessageState) string {
	v.Helper()
	list, err := v.r.Messages(queue, state, 0, 100)
	v.ok(err)
	out := ""
	for _, m := range list {
		out += fmt.Sprintf("%s:%s ", m.ID, m.State)
	}
	return out
}

var messageCases = []test{
	{name: "a message has a history from the post to its end, over restarts", run: func(v *env) {
		fail := true
		handler := func(d *runner.Delivery) error {
			if fail {
				return runner.Retry(errHard, ms(50))
			}
			v.clock.Advance(ms(7))
			return d.SetResult([]byte("sent"))
		}
		n, w := v.named("mails", handler)
		v.post(n, "a")
		m := v.shows("mails", "a", runner.Waiting)
		equal(v, "posted", m.Posted.UnixMilli(), 100)
		equal(v, "payload", string(m.Payload), "a")
		v.tick(w, 0)
		m = v.shows("mails", "a", runner.Retrying)
		equal(v, "due", m.Due.UnixMilli(), 150)
		equal(v, "error", m.Error, "hard")
		v.restart()
		m = v.shows("mails", "a", runner.Retrying)
		equal(v, "attempts", m.Attempts, 1)
		fail = false
		_, w = v.named("mails", handler)
		v.clock.Set(151)
		v.tick(w, 1)
		v.restart()
		m = v.shows("mails", "a", runner.Done)
		equal(v, "attempts", m.Attempts, 2)
		equal(v, "result", string(m.Result), "sent")
		equal(v, "runs", len(m.Runs), 2)
		equal(v, "first", m.Runs[0], runner.Run{Ended: m.Runs[0].Ended, Error: "hard"})
		equal(v, "second", m.Runs[1], runner.Run{Ended: m.Runs[1].Ended, Took: ms(7)})
		equal(v, "ended", m.Ended.UnixMilli(), 158)
		equal(v, "posted", m.Posted.UnixMilli(), 100)
		_, err := v.r.Message("mails", "nobody")
		v.is(err, runner.ErrNotFound)
	}},
	{name: "a message that runs is active, and is neither retried nor deleted", run: func(v *env) {
		n, w := v.named("mails", func(*runner.Delivery) error {
			v.shows("mails", "a", runner.Active)
			v.is(v.r.RetryMessage(v.ctx, "mails", "a"), runner.ErrLeased)
			v.is(v.r.DeleteMessage(v.ctx, "mails", "a"), runner.ErrLeased)
			return nil
		})
		v.post(n, "a")
		v.tick(w, 1)
		v.is(v.r.RetryMessage(v.ctx, "mails", "a"), runner.ErrNotFound)
		v.is(v.r.DeleteMessage(v.ctx, "mails", "a"), runner.ErrNotFound)
	}},
	{name: "a dead one is retried with its history, or deleted", run: func(v *env) {
		n, w := v.named("mails", func(d *runner.Delivery) error {
			if d.Attempts > 0 {
				return runner.Discard(errHard)
			}
			return nil
		})
		v.post(n, "a")
		v.tick(w, 0)
		m := v.shows("mails", "a", runner.Dead)
		equal(v, "error", m.Error, "hard")
		equal(v, "dead letters", v.ids("mails", runner.Dead), "a:dead ")
		v.ok(v.r.RetryMessage(v.ctx, "mails", "a"))
		v.shows("mails", "a", runner.Waiting)
		equal(v, "dead letters", len(v.dead()), 0)
		v.tick(w, 0)
		equal(v, "runs", len(v.shows("mails", "a", runner.Dead).Runs), 2)
		v.ok(v.r.DeleteMessage(v.ctx, "mails", "a"))
		v.shows("mails", "a", runner.Deleted)
		equal(v, "dead letters", len(v.dead()), 0)
	}},
	{name: "one that waits for another try is retried at once", run: func(v *env) {
		n, w := v.named("mails", func(d *runner.Delivery) error {
			if d.Attempts == 1 {
				return runner.Retry(nil, ms(60_000))
			}
			return nil
		})
		v.post(n, "a")
		v.tick(w, 0)
		v.tick(w, 0)
		v.ok(v.r.RetryMessage(v.ctx, "mails", "a"))
		v.tick(w, 1)
		v.shows("mails", "a", runner.Done)
	}},
	{name: "messages of one stored row are deleted and retried one by one", run: func(v *env) {
		var ran []string
		n, err := v.r.Queue(v.ctx, "mails")
		v.ok(err)
		v.bundle(n, "a", "b", "c", "d")
		v.ok(v.r.DeleteMessage(v.ctx, "mails", "b"))
		v.ok(v.r.RetryMessage(v.ctx, "mails", "c"))
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 3)
		equal(v, "waiting", v.ids("mails", runner.Waiting), "a:waiting c:waiting d:waiting ")
		v.restart()
		_, w := v.named("mails", func(d *runner.Delivery) error { ran = append(ran, string(d.ID)); return nil })
		v.tick(w, 3)
		same(v, "ran", ran, []string{"a", "c", "d"})
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
		equal(v, "finished", v.ids("mails", runner.Done), "b:deleted a:done c:done d:done ")
	}},
	{name: "a message without a history is found by its id", run: func(v *env) {
		v.together("a", "b", "c")
		v.shows("7", "b", runner.Waiting)
		v.ok(v.r.DeleteMessage(v.ctx, "7", "b"))
		_, err := v.r.Message("7", "b")
		v.is(err, runner.ErrNotFound)
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { return runner.Discard(nil) })
		v.tick(w, 0)
		v.shows("7", "c", runner.Dead)
		v.ok(v.r.RetryMessage(v.ctx, "7", "c"))
		v.shows("7", "c", runner.Waiting)
	}},
	{name: "the finished messages that are remembered have a bound", unstarted: true, run: func(v *env) {
		v.opts.KeepHistory = 3
		v.start()
		n, w := v.named("mails", func(d *runner.Delivery) error { return nil })
		for i := range 5 {
			v.post(n, fmt.Sprint(i))
			v.tick(w, 1)
		}
		equal(v, "finished", v.ids("mails", runner.Done), "2:done 3:done 4:done ")
		_, err := v.r.Message("mails", "1")
		v.is(err, runner.ErrNotFound)
		v.restart()
		_, w = v.named("mails", func(d *runner.Delivery) error { return nil })
		v.post(n, "2") // a reused id is not forgotten with its first use
		v.tick(w, 1)
		equal(v, "finished", v.ids("mails", runner.Done), "3:done 4:done 2:done ")
		list, err := v.r.Messages("mails", runner.Done, 0, 2)
		v.ok(err)
		list, err = v.r.Messages("mails", runner.Done, list[1].Number+1, 2)
		v.ok(err)
		if len(list) != 1 || list[0].ID != "2" {
			v.Errorf("the second page is %v", list)
		}
	}},
	{name: "a duplicate leaves the history of the one that ran", run: func(v *env) {
		runs := 0
		n, w := v.named("mails", func(d *runner.Delivery) error {
			if runs++; runs == 1 {
				return runner.Retry(errHard, ms(60_000))
			}
			return d.SetResult([]byte("sent"))
		})
		check := func(state runner.MessageState, result string, runs int) {
			v.Helper()
			m := v.shows("mails", "a", state)
			equal(v, "result", string(m.Result), result)
			equal(v, "runs", len(m.Runs), runs)
		}
		v.post(n, "a", runner.Dedupe)
		v.tick(w, 0)
		v.post(n, "a", runner.Dedupe)
		check(runner.Waiting, "", 1)
		v.tick(w, 1)
		check(runner.Done, "sent", 2)
		v.clock.Set(100_000)
		v.post(n, "a", runner.Dedupe)
		check(runner.Waiting, "sent", 2)
		v.tick(w, 0)
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
		check(runner.Done, "sent", 2)
		equal(v, "runs of the handler", runs, 2)
	}},
	{name: "without a history what is done is forgotten", unstarted: true, run: func(v *env) {
		v.opts.KeepHistory = -1
		v.start()
		n, w := v.named("mails", func(d *runner.Delivery) error { return nil })
		for _, id := range []string{"a", "b"} {
			v.post(n, id)
			v.shows("mails", id, runner.Waiting)
			v.tick(w, 1)
			_, err := v.r.Message("mails", id)
			v.is(err, runner.ErrNotFound)
		}
		v.post(n, "c")
		v.ok(v.r.DeleteMessage(v.ctx, "mails", "c"))
		v.restart()
		_, err := v.r.Message("mails", "c")
		v.is(err, runner.ErrNotFound)
		equal(v, "finished", v.ids("mails", runner.Done), "")
	}},
	{name: "the history of an ordered worker's message tells every try", run: func(v *env) {
		n, err := v.r.Queue(v.ctx, "moves")
		v.ok(err)
		w := v.worker(n, runner.WorkerOptions{Ordered: true, Policy: &runner.Policy{RetryBudget: 2}},
			func(d *runner.Delivery) error {
				if string(d.ID) == "b" {
					return errHard
				}
				return nil
			})
		v.bundle(n, "a", "b", "c")
		v.tick(w, 2)
		m := v.shows("moves", "b", runner.Dead)
		equal(v, "runs", len(m.Runs), 2)
		v.shows("moves", "c", runner.Done)
	}},
}
