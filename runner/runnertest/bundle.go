package runnertest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// together posts messages to worker 7 in one commit. An id with the prefix ! has high priority,
// one with the prefix = has the flag Dedupe.
func (v *env) together(ids ...string) {
	v.Helper()
	v.bundle(7, ids...)
}

func (v *env) bundle(to uint64, ids ...string) {
	v.Helper()
	durable := make(chan error, 1)
	g := v.r.NewGroup(func(_ *runner.Group, err error) { durable <- err })
	for _, id := range ids {
		m := runner.Message{To: to, ID: []byte(id)}
		switch id[0] {
		case '!':
			m.ID, m.Flags = m.ID[1:], runner.HighPriority
		case '=':
			m.ID, m.Flags = m.ID[1:], runner.Dedupe
		}
		v.ok(g.Add(&m))
	}
	v.ok(v.r.Submit(g))
	v.ok(<-durable)
}

func (v *env) held(want int) {
	v.Helper()
	held, _ := v.leases(7)
	equal(v, "held", held, want)
}

// bundleCases test that what one commit posts to an inbox is one stored row, without a visible
// difference.
var bundleCases = []test{
	{name: "one row in the storage, many in the listing", run: func(v *env) {
		v.together("a", "b", "!c", "d", "e", "f")
		same(v, "rows", v.rows(7), []uint64{1, 2, 3, 4, 5, 6})
		list, err := v.r.Inbox(7, 5, 1)
		v.ok(err)
		equal(v, "rows from the middle", len(list), 1)
		m, err := runner.DecodeMessage(list[0].Frame)
		v.ok(err)
		equal(v, "row 5", fmt.Sprint(list[0].Seq, string(m.ID)), "5e")
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 6)
		v.ok(v.r.Close())
		for seq, magic := range map[uint64]string{1: "LMSB\x02\x00\x00\x00LMSG", 4: "LMSB\x03\x00\x00\x00LMSG"} {
			if got := v.stored(1, rowKey(7, seq)); !bytes.HasPrefix(got, []byte(magic)) {
				v.Errorf("row %d: got %q, want it to begin with %q", seq, got, magic)
			}
		}
		for _, seq := range []uint64{2, 5, 6} {
			equal(v, "stored", len(v.stored(1, rowKey(7, seq))), 0)
		}
		v.start()
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 6)
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 6)
		same(v, "delivered", *got, []string{"c", "a", "b", "d", "e", "f"})
	}},
	{name: "delete and hasten one of a bundle, claimed or not", run: func(v *env) {
		v.together("a", "b", "c", "d")
		v.ok(v.r.DeleteMessage(v.ctx, "7", "b"))
		v.ok(v.r.RetryMessage(v.ctx, "7", "c"))
		var got string
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			got += string(d.ID)
			for _, id := range []string{"a", "d"} {
				if len(got) == 1 {
					v.is(v.r.DeleteMessage(v.ctx, "7", id), runner.ErrLeased)
					v.is(v.r.RetryMessage(v.ctx, "7", id), runner.ErrLeased)
				}
			}
			return nil
		})
		v.tick(w, 3)
		equal(v, "delivered", len(got) == 3 && !strings.Contains(got, "b"), true)
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
		held, parked := v.leases(7)
		equal(v, "leases", held+parked, 0)
	}},
	{name: "rows without the inbox's state are counted", run: func(v *env) {
		v.together("a", "b", "c")
		v.ok(v.r.Close())
		value := v.stored(1, rowKey(7, 1))
		v.plant(raw{1, rowKey(9, 4), value})
		v.start()
		for _, in := range v.r.Stats().Inboxes {
			equal(v, "depth", in.Depth, 3)
		}
		same(v, "rows", v.rows(9), []uint64{4, 5, 6})
		equal(v, "next", v.post(9, "d").Seq, 7)
	}},
	{name: "a batch smaller than a bundle", run: func(v *env) {
		v.together("a", "b", "c", "d", "e", "f")
		var attempts []uint32
		var got string
		w := v.worker(7, runner.WorkerOptions{MaxBatch: 4}, func(d *runner.Delivery) error {
			attempts, got = append(attempts, d.Attempts), got+string(d.ID)
			v.held(4)
			return nil
		})
		v.tick(w, 4)
		same(v, "left", v.rows(7), []uint64{5, 6})
		v.ok(w.Remove())
		v.restart()
		w = v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(d *runner.Delivery) error {
			attempts, got = append(attempts, d.Attempts), got+string(d.ID)
			return nil
		})
		v.tick(w, 1)
		v.tick(w, 1)
		v.tick(w, 0)
		equal(v, "order", got, "abcdef")
		same(v, "attempts", attempts, []uint32{1, 1, 1, 1, 1, 1})
	}},
	{name: "bytes bound a batch inside a bundle", run: func(v *env) {
		v.together("a", "b", "c", "d", "e")
		var got []string
		w := v.batchWorker(runner.WorkerOptions{MaxBytes: 100},
			func(b *runner.Batched) error { got = append(got, ids(b.Deliveries)); return nil })
		v.tick(w, 5)
		same(v, "batches", got, []string{"ab", "cd", "e"})
	}},
	{name: "a bundle behind high priority is not starved", run: func(v *env) {
		v.together("a", "b", "c", "d", "e")
		w, got := v.collector(runner.WorkerOptions{MaxBatch: 4})
		for range 5 {
			v.together("!1", "!2", "!3", "!4")
			v.tick(w, 4)
		}
		n := 0
		for _, id := range *got {
			if id >= "a" {
				n++
			}
		}
		equal(v, "ordinary ones", n, 5)
	}},
	{name: "each message of a bundle has its own outcome", run: func(v *env) {
		v.together("a", "b", "c", "d")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			switch string(d.ID) {
			case "b":
				return runner.Discard(errHard)
			case "c":
				return runner.Retry(errHard, time.Second)
			}
			return nil
		})
		v.tick(w, 2)
		same(v, "rows", v.rows(7), []uint64{5})
		equal(v, "dead", v.dead()[0].Source, at(7, 2))
		v.restart()
		same(v, "rows", v.rows(7), []uint64{5})
	}},
	{name: "a conflict runs one message again, not the bundle", run: func(v *env) {
		v.together("a", "b", "c")
		ran := ""
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				ran += string(d.ID)
				if string(d.ID) == "b" {
					_, _ = tx.Get([]byte("k"))
					if ran == "ab" {
						v.put("k", "changed")
					}
				}
				return tx.Emit(d.ID)
			}})
		v.ok(err)
		v.tick(w, 3)
		equal(v, "ran", ran, "abcb")
		same(v, "outbox", v.outbox(), []string{"a", "c", "b"})
		same(v, "rows", v.rows(7), nil)
		v.restart()
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "duplicates within a bundle", run: func(v *env) {
		v.together("=a", "=a", "=b")
		w, err := v.r.NewWorker(7, runner.WorkerOptions{Handler: emitID})
		v.ok(err)
		v.tick(w, 2)
		same(v, "outbox", v.outbox(), []string{"a", "b"})
		equal(v, "duplicates", w.Metrics().Duplicates, 1)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "a crash counts for every message of a bundle; the culprit pays alone", run: func(v *env) {
		v.together("poison", "good", "better")
		for range 4 {
			v.claimAndDie(runner.WorkerOptions{})
		}
		w, got := v.collector(runner.WorkerOptions{})
		v.ticks(w, 6)
		equal(v, "dead letters", len(v.dead()), 1)
		equal(v, "who died", v.dead()[0].Source, at(7, 1))
		equal(v, "attempts", v.dead()[0].Attempts, 4)
		same(v, "the innocent ones", *got, []string{"good", "better"})
	}},
	{name: "one row of a bundle is claimed by hand", run: func(v *env) {
		v.together("a", "b", "c", "d")
		v.ok(v.steal(at(7, 3), 10_000))
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 3)
		same(v, "the rest", *got, []string{"a", "b", "d"})
		same(v, "rows", v.rows(7), []uint64{3})
		v.is(v.steal(at(7, 2), 10_000), runner.ErrNotFound)
		v.restart()
		w, _ = v.collector(runner.WorkerOptions{})
		v.tick(w, 1)
		same(v, "rows", v.rows(7), nil)
		equal(v, "depth", v.r.Stats().Inboxes[0].Depth, 0)
	}},
	{name: "a bundle that a worker runs is leased in every row", run: func(v *env) {
		v.together("a", "b", "c")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			err := v.steal(at(7, 2), 10_000)
			v.is(err, runner.ErrLeased)
			list, err := v.r.Inbox(7, 0, 10)
			v.ok(err)
			for _, row := range list {
				equal(v, "leased", row.Leased, true)
				equal(v, "attempts", row.Lease.Attempts, 1)
			}
			return nil
		})
		v.tick(w, 3)
	}},
	{name: "a row of a bundle is stolen while it runs", run: func(v *env) {
		v.together("a", "b", "c")
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				if string(d.ID) == "a" {
					v.clock.Advance(2 * time.Second)
					err := v.steal(at(7, 2), 10_000)
					v.ok(err)
				}
				return tx.Emit(d.ID)
			}})
		v.ok(err)
		v.tick(w, 2)
		same(v, "outbox", v.outbox(), []string{"a", "c"})
		equal(v, "leases lost", w.Metrics().LeasesLost, 1)
		same(v, "rows", v.rows(7), []uint64{2})
	}},
	{name: "a lease that ran out is not taken over from a worker that runs", run: func(v *env) {
		v.together("a", "b", "c")
		var second *runner.Worker
		first, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				if string(d.ID) == "b" {
					v.clock.Advance(5 * time.Second)
					v.tick(second, 0)
				}
				return tx.Emit([]byte("first " + string(d.ID)))
			}})
		v.ok(err)
		second, err = v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				return tx.Emit(d.ID)
			}})
		v.ok(err)
		v.tick(first, 3)
		same(v, "outbox", v.outbox(), []string{"first a", "first b", "first c"})
		equal(v, "leases lost", first.Metrics().LeasesLost, 0)
		equal(v, "expired", second.Metrics().Expired, 0)
	}},
	{name: "leases of a bundle are renewed, one and all", run: func(v *env) {
		v.together("a", "b", "c")
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			v.clock.Advance(900 * time.Millisecond)
			v.ok(d.Renew(v.ctx))
			v.clock.Advance(900 * time.Millisecond)
			err := v.steal(d.Row, 10_000)
			v.is(err, runner.ErrLeased)
			return nil
		})
		v.tick(w, 3)
		equal(v, "leases lost", w.Metrics().LeasesLost, 0)
		v.ok(w.Remove())
		v.together("d", "e")
		w = v.batchWorker(runner.WorkerOptions{}, func(b *runner.Batched) error {
			for range 3 {
				v.clock.Advance(900 * time.Millisecond)
				v.ok(b.Renew(v.ctx))
			}
			return nil
		})
		v.tick(w, 2)
		equal(v, "leases lost", w.Metrics().LeasesLost, 0)
	}},
	{name: "a worker that stops gives the rest of a bundle back, uncounted", run: func(v *env) {
		v.together("a", "b", "c", "d")
		var w *runner.Worker
		w = v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error { w.Stop(); return nil })
		v.ok(w.Start(v.ctx))
		v.ok(w.Join())
		same(v, "rows", v.rows(7), []uint64{2, 3, 4})
		v.held(0)
		var attempts []uint32
		next := v.worker(7, runner.WorkerOptions{},
			func(d *runner.Delivery) error { attempts = append(attempts, d.Attempts); return nil })
		v.tick(next, 3)
		same(v, "attempts", attempts, []uint32{1, 1, 1})
	}},
	{name: "an ordered worker goes by number, in batches that cut bundles", unstarted: true, run: func(v *env) {
		for size := 1; size <= 9; size++ {
			v.start()
			v.together("1", "2", "!3", "4", "5", "6", "7")
			v.arm(50, "t")
			v.together("8", "!9")
			var got string
			w := v.batchWorker(runner.WorkerOptions{Ordered: true, MaxBatch: size},
				func(b *runner.Batched) error { got += ids(b.Deliveries); return nil })
			v.ticks(w, 10)
			equal(v, fmt.Sprintf("order in batches of %d", size), got, "123456789t")
			same(v, "rows", v.rows(7), nil)
			v.ok(w.Remove())
			v.ok(v.r.Close())
			v.storage = NewFaulty(memstore.New())
		}
	}},
	{name: "a bundle is refused as a frame, and a damaged one is dead", run: func(v *env) {
		v.together("a", "b")
		v.ok(v.r.Close())
		value := v.stored(1, rowKey(7, 1))
		v.start()
		v.is(v.store(7, 50, value), runner.ErrInvalid)
		v.ok(v.store(7, 50, value[:len(value)-1]))
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 2)
		same(v, "delivered", *got, []string{"a", "b"})
		equal(v, "cause", v.dead()[0].Cause, runner.CauseMalformed)
	}},
	{name: "a checkpoint and a restore", run: func(v *env) {
		v.together("a", "b", "c")
		place := v.place("checkpoint")
		v.ok(v.r.Checkpoint(place))
		w, got := v.collector(runner.WorkerOptions{MaxBatch: 2})
		v.tick(w, 2)
		v.ok(v.r.Restore(place))
		same(v, "rows", v.rows(7), []uint64{1, 2, 3})
		v.tick(w, 2)
		v.tick(w, 1)
		same(v, "delivered", *got, []string{"a", "b", "a", "b", "c"})
	}},
	{name: "rows above are claimed before rows below, and the process dies", run: func(v *env) {
		v.together("low", "!high")
		var below *runner.Worker
		above := v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(d *runner.Delivery) error {
			equal(v, "first", string(d.ID), "high")
			v.storage.FailAfter(1, errHard)
			_, err := below.Tick(v.ctx)
			v.is(err, runner.ErrFailed)
			return nil
		})
		below = v.worker(7, runner.WorkerOptions{MaxBatch: 1}, func(d *runner.Delivery) error {
			equal(v, "second", string(d.ID), "low")
			return nil
		})
		_, err := above.Tick(v.ctx)
		v.is(err, runner.ErrFailed)
		v.ok(above.Remove())
		v.ok(below.Remove())
		v.ok(v.r.Reopen())
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 2)
		same(v, "delivered", *got, []string{"low", "high"})
	}},
}
