package runnertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wamble/runner"
)

func emitID(_ context.Context, tx *runner.Tx, d *runner.Delivery) error { return tx.Emit(d.ID) }

// claimAndDie leaves rows claimed like a process that dies in its handler: the storage is
// closed under the runner.
func (v *env) claimAndDie(o runner.WorkerOptions) {
	v.Helper()
	died := errors.New("died")
	stop := func() { panic(died) }
	if o.Handler == nil && o.Batch == nil {
		o.Handler = func(context.Context, *runner.Tx, *runner.Delivery) error { stop(); return nil }
	}
	w, err := v.r.NewWorker(7, o)
	v.ok(err)
	// The commit that would settle the batch fails, so the leases of the claim are the last
	// stored change.
	v.storage.FailAfter(1, died)
	_, err = w.Tick(v.ctx)
	v.is(err, runner.ErrFailed)
	v.ok(w.Remove())
	v.ok(v.r.Reopen())
}

var recoveryCases = []test{
	{name: "R1 a checkpoint holds every table", run: func(v *env) {
		v.post(7, "row")
		leased := v.post(7, "leased")
		err := v.steal(leased, 1_000_000)
		v.ok(err)
		v.post(7, "high", runner.HighPriority)
		v.arm(500, "timer")
		v.emit("out")
		v.put("k", "v")
		v.bury(8, "dead")
		w := v.worker(9, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.post(9, "once", runner.Dedupe)
		v.tick(w, 1)
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		// Everything changes …
		v.put("k", "changed")
		_, err = v.r.DrainOutbox(v.ctx, 9, func(runner.OutboxRow) error { return nil })
		v.ok(err)
		_, err = v.r.DropDeadLetters(v.ctx, runner.DeadFilter{})
		v.ok(err)
		v.clock.Set(600)
		all, _ := v.collector(runner.WorkerOptions{})
		_, err = all.Tick(v.ctx)
		v.ok(err)
		// … and is restored.
		v.ok(v.r.Restore(place))
		same(v, "rows", v.rows(7), []uint64{1, 2, 3})
		held, _ := v.leases(7)
		equal(v, "leases", held, 1)
		same(v, "timers", v.dues(), []int64{500})
		same(v, "outbox", v.outbox(), []string{"out"})
		equal(v, "state", v.state("k"), "v")
		equal(v, "dead letters", len(v.dead()), 1)
		v.post(9, "once", runner.Dedupe)
		v.tick(w, 0)
		equal(v, "duplicates", w.Metrics().Duplicates, 1)
	}},
	{name: "R2 R3 restore takes everything back, and the same runner goes on", run: func(v *env) {
		d := v.bury(7, "two")
		v.post(7, "one")
		id := v.r.JournalID()
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 1)
		to, err := v.r.ReplayDeadLetter(v.ctx, d.Row)
		v.ok(err)
		equal(v, "replayed to", to, at(7, 3))
		v.tick(w, 1)
		v.ok(v.r.Restore(place))
		equal(v, "state", v.r.State(), runner.Running)
		same(v, "rows", v.rows(7), []uint64{2})
		equal(v, "dead letter is back", v.dead()[0].Row, d.Row)
		v.tick(w, 1)
		same(v, "delivered", *got, []string{"one", "two", "one"})
		equal(v, "the journal id is new", v.r.JournalID() != id, true)
	}},
	{name: "R4 a lease in a checkpoint holds until its deadline", run: func(v *env) {
		row := v.post(7, "a")
		err := v.steal(row, 500)
		v.ok(err)
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		v.ok(v.r.Restore(place))
		attempts := uint32(0)
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { attempts = d.Attempts; return nil })
		v.clock.Set(500)
		v.tick(w, 0)
		v.clock.Set(501)
		v.tick(w, 1)
		equal(v, "attempts", attempts, 2)
	}},
	{name: "R4 a lease in a checkpoint is over if nobody runs who holds it", run: func(v *env) {
		row := v.post(7, "a")
		v.ok(v.steal(row, 500))
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		v.ok(v.r.Close())
		alone := v.opts
		alone.EndLeases = true
		v.ok(runner.Restore(v.storage, place, alone))
		v.start()
		attempts := uint32(0)
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { attempts = d.Attempts; return nil })
		v.tick(w, 1)
		equal(v, "attempts", attempts, 2)
	}},
	{name: "R5 numbers go on from the checkpoint without collision", run: func(v *env) {
		v.emit("a")
		v.post(7, "x")
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		v.emit("b")
		v.ok(v.r.Restore(place))
		v.emit("c")
		same(v, "outbox", v.outbox(), []string{"a", "c"})
		equal(v, "row", v.post(7, "y").Seq, 2)
	}},
	{name: "R6 R7 a crash before the commit leaves neither acknowledgement nor effects", run: func(v *env) {
		v.post(7, "a")
		v.claimAndDie(runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
			v.ok(tx.Put([]byte("k"), []byte("v")))
			return tx.Emit([]byte("once"))
		}})
		equal(v, "state", v.state("k"), "-")
		same(v, "outbox", v.outbox(), nil)
		w, err := v.r.NewWorker(7, runner.WorkerOptions{Handler: emitID})
		v.ok(err)
		v.tick(w, 1) // at once: the lease is one of its own earlier epoch
		same(v, "outbox", v.outbox(), []string{"a"})
	}},
	{name: "R8 deliveries that a crash ended are counted", run: func(v *env) {
		v.posts(7, "poison", "good")
		for range 4 {
			v.claimAndDie(runner.WorkerOptions{})
			equal(v, "dead letters", len(v.dead()), 0)
		}
		w, got := v.collector(runner.WorkerOptions{})
		v.ticks(w, 4)
		dead := v.dead()
		equal(v, "dead letters", len(dead), 1)
		equal(v, "cause", dead[0].Cause, runner.CauseCrash)
		equal(v, "attempts", dead[0].Attempts, 4)
		equal(v, "who died", dead[0].Source, at(7, 1))
		same(v, "the innocent one", *got, []string{"good"})
	}},
	{name: "R9 no stale count shortens a later budget", run: func(v *env) {
		v.post(7, "a")
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return errHard })
		v.tick(w, 0)
		equal(v, "dead letters", len(v.dead()), 1)
		v.post(7, "a")
		_, err := v.r.ReplayDeadLetter(v.ctx, v.dead()[0].Row)
		v.ok(err)
		v.restart()
		w = v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return errHard })
		v.tick(w, 0)
		equal(v, "attempts of both", w.Metrics().Attempts, 8)
	}},
	{name: "a restarted worker takes back its leases at once", run: func(v *env) {
		v.posts(7, "a", "b")
		for _, seq := range []uint64{1, 2} {
			err := v.steal(at(7, seq), 2000)
			v.ok(err)
		}
		v.restart()
		v.clock.Set(1000)
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 2)
		same(v, "order", *got, []string{"a", "b"})
	}},
	{name: "an ordered worker goes on in order after a crash", run: func(v *env) {
		v.number(7, 6)
		v.claimAndDie(runner.WorkerOptions{Ordered: true, MaxBatch: 4})
		v.post(7, "6")
		var got string
		w := v.batchWorker(runner.WorkerOptions{Ordered: true},
			func(b *runner.Batched) error { got += ids(b.Deliveries); return nil })
		v.ticks(w, 3)
		equal(v, "order", got, "0123456")
	}},
	{name: "checkpoints do not overwrite, and a missing one changes nothing", run: func(v *env) {
		v.put("k", "v")
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		equal(v, "second refused", v.r.Checkpoint(place) != nil, true)
		equal(v, "restore of nothing refused", v.r.Restore(v.place("nothing")) != nil, true)
		equal(v, "state", v.r.State(), runner.Running)
		equal(v, "content", v.state("k"), "v")
		v.put("k", "w")
	}},
	{name: "depths and heads survive", run: func(v *env) {
		w, _ := v.collector(runner.WorkerOptions{MaxBatch: 3})
		v.number(7, 10)
		v.tick(w, 3)
		v.restart()
		in := v.r.Stats().Inboxes[0]
		equal(v, "depth", in.Depth, 7)
		equal(v, "head", in.HeadSeq, 4)
		equal(v, "next", in.NextSeq, 11)
	}},
}

var failureCases = []test{
	{name: "a failed commit surfaces, nothing more is acknowledged, reopening helps", run: func(v *env) {
		v.post(7, "kept")
		boom := errors.New("boom")
		v.storage.FailAfter(0, boom)
		_, err := v.r.Post(v.ctx, msg(7, "lost"))
		v.is(err, runner.ErrFailed)
		v.is(err, boom)
		<-v.r.Failed()
		equal(v, "state", v.r.State(), runner.Failed)
		v.is(v.r.Err(), boom)
		_, err = v.r.Post(v.ctx, msg(7, "refused"))
		v.is(err, runner.ErrFailed)
		g := v.r.NewGroup(func(*runner.Group, error) { v.Error("the callback of a refused group was called") })
		v.ok(g.Add(&runner.Message{To: 7, ID: []byte("g")}))
		v.is(v.r.Submit(g), runner.ErrFailed)
		w, got := v.collector(runner.WorkerOptions{})
		_, err = w.Tick(v.ctx)
		v.is(err, runner.ErrFailed)
		v.ok(v.r.Reopen())
		equal(v, "state", v.r.State(), runner.Running)
		equal(v, "error is gone", v.r.Err(), nil)
		v.tick(w, 1)
		same(v, "delivered", *got, []string{"kept"})
	}},
	{name: "a started worker outlives a failure", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		done := make(chan string, 4)
		w := v.worker(7, runner.WorkerOptions{MaxIdle: time.Millisecond},
			func(d *runner.Delivery) error { done <- string(d.ID); return nil })
		v.ok(w.Start(v.ctx))
		v.post(7, "a")
		equal(v, "before", <-done, "a")
		v.ok(v.r.Quiesce(v.ctx)) // so that the failure meets the post below
		v.storage.FailAfter(0, errHard)
		_, err := v.r.Post(v.ctx, msg(7, "lost"))
		v.is(err, runner.ErrFailed)
		v.ok(v.r.Reopen())
		v.r.Resume()
		v.post(7, "b")
		equal(v, "after", <-done, "b")
	}},
	{name: "waiting requests are answered when the storage fails", run: func(v *env) {
		results := make(chan error, 64)
		v.storage.FailAfter(0, errHard)
		g := make([]*runner.Group, 8)
		for i := range g {
			g[i] = v.r.NewGroup(func(_ *runner.Group, err error) { results <- err })
			v.ok(g[i].Add(&runner.Message{To: 7, ID: []byte("g")}))
			if err := v.r.Submit(g[i]); err != nil {
				results <- err
			}
		}
		for range g {
			v.is(<-results, runner.ErrFailed)
		}
	}},
	{name: "below the watermark nothing is accepted, acknowledging goes on, room helps", unstarted: true, run: func(v *env) {
		v.opts.MinFree = 1000
		v.storage.SetFree(5000)
		v.start()
		v.post(7, "a")
		v.storage.SetFree(999)
		v.clock.Advance(time.Second)
		_, err := v.r.Post(v.ctx, msg(7, "refused"))
		v.is(err, runner.ErrNoSpace)
		equal(v, "state", v.r.State(), runner.ReadOnly)
		_, err = v.r.Arm(v.ctx, when(5000), msg(7, "refused"))
		v.is(err, runner.ErrNoSpace)
		_, err = v.r.Update(v.ctx, none, func(tx *runner.Tx) error { return tx.Put([]byte("k"), nil) })
		v.is(err, runner.ErrNoSpace)
		answer := make(chan error, 1)
		g := v.r.NewGroup(func(_ *runner.Group, err error) { answer <- err })
		v.ok(g.Add(&runner.Message{To: 7, ID: []byte("g")}))
		v.ok(v.r.Submit(g))
		v.is(<-answer, runner.ErrNoSpace)
		w, _ := v.collector(runner.WorkerOptions{})
		v.tick(w, 1)
		v.storage.SetFree(1000)
		v.clock.Advance(time.Second)
		v.post(7, "b")
		equal(v, "state", v.r.State(), runner.Running)
	}},
}

var groupCases = []test{
	{name: "all frames durable, numbered in order, called back once", run: func(v *env) {
		answers := make(chan error, 4)
		g := v.r.NewGroup(func(g *runner.Group, err error) { answers <- err })
		for round := range 3 {
			for i := range 5 {
				v.ok(g.Add(&runner.Message{To: uint64(7 + i%2), ID: fmt.Appendf(nil, "%d", i)}))
			}
			before := v.r.Stats().Commits
			v.ok(v.r.Submit(g))
			v.ok(<-answers)
			equal(v, "commits", v.r.Stats().Commits-before, 1)
			equal(v, "frames", g.Len(), 5)
			equal(v, "row of frame 0", g.Row(0), at(7, uint64(round*3+1)))
			equal(v, "row of frame 4", g.Row(4), at(7, uint64(round*3+3)))
			equal(v, "row of frame 3", g.Row(3), at(8, uint64(round*2+2)))
			g.Reset()
			equal(v, "bytes after reset", g.Bytes(), 0)
		}
		equal(v, "rows", len(v.rows(7))+len(v.rows(8)), 15)
	}},
	{name: "bad messages and frames too large", unstarted: true, run: func(v *env) {
		v.opts.MaxFrame = 100
		v.start()
		g := v.r.NewGroup(func(*runner.Group, error) { v.Error("called back") })
		v.is(g.Add(&runner.Message{To: 7, Kind: 9}), runner.ErrInvalid)
		v.is(g.Add(&runner.Message{To: 1 << 63, ID: []byte("x")}), runner.ErrInvalid)
		equal(v, "frames", g.Len(), 0)
		v.ok(g.Add(&runner.Message{To: 7, ID: []byte("x"), Payload: make([]byte, 50)}))
		v.is(v.r.Submit(g), runner.ErrTooLarge)
	}},
	{name: "too many bytes waiting are refused", unstarted: true, run: func(v *env) {
		v.opts.MaxQueued = 1000
		v.start()
		// The callback of the first group blocks the committer while the others are queued.
		hold, held := make(chan struct{}), make(chan struct{})
		first := v.r.NewGroup(func(*runner.Group, error) { close(held); <-hold })
		v.ok(first.Add(&runner.Message{To: 7, ID: []byte("x")}))
		v.ok(v.r.Submit(first))
		<-held
		answers := make(chan error, 10)
		var refused error
		sent := 0
		for refused == nil && sent < 10 {
			g := v.r.NewGroup(func(_ *runner.Group, err error) { answers <- err })
			v.ok(g.Add(&runner.Message{To: 7, ID: []byte("x"), Payload: make([]byte, 400)}))
			if refused = v.r.Submit(g); refused == nil {
				sent++
			}
		}
		v.is(refused, runner.ErrBusy)
		close(hold)
		for range sent {
			v.ok(<-answers)
		}
		v.post(7, "again")
	}},
	{name: "an ended context leaves the outcome open and nothing broken", run: func(v *env) {
		hold, held := make(chan struct{}), make(chan struct{})
		g := v.r.NewGroup(func(*runner.Group, error) { close(held); <-hold })
		v.ok(g.Add(&runner.Message{To: 7, ID: []byte("x")}))
		v.ok(v.r.Submit(g))
		<-held
		ctx, cancel := context.WithCancel(v.ctx)
		cancel()
		_, err := v.r.Post(ctx, msg(7, "open"))
		v.is(err, context.Canceled)
		close(hold)
		v.post(7, "after")
		same(v, "rows", v.rows(7), []uint64{1, 2, 3})
	}},
}
