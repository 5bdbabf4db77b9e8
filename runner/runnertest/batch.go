package runnertest

import (
	"context"
	"fmt"
	"time"

	"wamble/runner"
)

func (v *env) batchWorker(o runner.WorkerOptions, h func(b *runner.Batched) error) *runner.Worker {
	v.Helper()
	o.Batch = func(_ context.Context, b *runner.Batched) error { return h(b) }
	w, err := v.r.NewWorker(7, o)
	v.ok(err)
	return w
}

func ids(list []runner.Delivery) string {
	out := ""
	for _, d := range list {
		out += string(d.ID)
	}
	return out
}

var batchCases = []test{
	{name: "count and bytes bound a batch", run: func(v *env) {
		v.number(7, 10)
		var got []string
		w := v.batchWorker(runner.WorkerOptions{MaxBatch: 4},
			func(b *runner.Batched) error { got = append(got, ids(b.Deliveries)); return nil })
		v.tick(w, 4)
		v.ok(w.Remove())
		w = v.batchWorker(runner.WorkerOptions{MaxBatch: 4, MaxBytes: 100},
			func(b *runner.Batched) error { got = append(got, ids(b.Deliveries)); return nil })
		v.tick(w, 4)
		same(v, "batches", got, []string{"0123", "45", "67"})
	}},
	{name: "TickOnce runs one claim, of so many bytes", run: func(v *env) {
		v.number(7, 9)
		var got []string
		w := v.batchWorker(runner.WorkerOptions{MaxBatch: 4, Ordered: true},
			func(b *runner.Batched) error { got = append(got, ids(b.Deliveries)); return nil })
		for _, maxBytes := range []int{100, 1, 1 << 20, 1 << 20, 1 << 20} {
			_, err := w.TickOnce(v.ctx, maxBytes)
			v.ok(err)
		}
		same(v, "batches", got, []string{"01", "2", "3456", "78"})
	}},
	{name: "one commit acknowledges the batch with its effects", run: func(v *env) {
		v.number(7, 5)
		before := v.r.Stats().Commits
		w := v.batchWorker(runner.WorkerOptions{MaxBatch: 5}, func(b *runner.Batched) error {
			return b.Tx.Put([]byte("sum"), []byte(ids(b.Deliveries)))
		})
		v.tick(w, 5)
		equal(v, "commits", v.r.Stats().Commits-before, 2)
		equal(v, "state", v.state("sum"), "01234")
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "each delivery can have its own outcome", run: func(v *env) {
		v.posts(7, "a", "b", "c", "d")
		w := v.batchWorker(runner.WorkerOptions{MaxBatch: 4}, func(b *runner.Batched) error {
			b.Fail(1, runner.Discard(errHard))
			b.Fail(2, errBusy)
			return nil
		})
		v.tick(w, 2)
		same(v, "rows", v.rows(7), []uint64{5})
		equal(v, "dead", v.dead()[0].Source, at(7, 2))
	}},
	{name: "parts are re-framed as dead letters in the same commit", run: func(v *env) {
		v.posts(7, "a", "b")
		fail := true
		w := v.batchWorker(runner.WorkerOptions{}, func(b *runner.Batched) error {
			b.DeadLetter(1, frame(7, "part of b"), errHard)
			if fail {
				fail = false
				return errBusy
			}
			return nil
		})
		v.tick(w, 2)
		dead := v.dead()
		equal(v, "dead letters", len(dead), 1)
		equal(v, "cause", dead[0].Cause, runner.CauseReframed)
		m, err := runner.DecodeMessage(dead[0].Frame)
		v.ok(err)
		equal(v, "frame", string(m.ID), "part of b")
		equal(v, "source worker", dead[0].Source.Worker, 7)
	}},
	{name: "strays are sorted out before the handler", run: func(v *env) {
		v.post(7, "a")
		v.ok(v.store(7, 2, []byte("junk")))
		v.post(7, "b")
		v.ok(v.store(7, 4, frame(8, "stray")))
		var got string
		w := v.batchWorker(runner.WorkerOptions{},
			func(b *runner.Batched) error { got += ids(b.Deliveries); return nil })
		v.ticks(w, 3)
		equal(v, "delivered", got, "ab")
		equal(v, "dead letters", len(v.dead()), 2)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "a lost lease drops the whole batch's effects, and the rest runs again", run: func(v *env) {
		v.post(7, "a")
		row := v.post(7, "b")
		stolen := false
		var got []string
		w := v.batchWorker(runner.WorkerOptions{MaxBatch: 2}, func(b *runner.Batched) error {
			if !stolen {
				stolen = true
				v.clock.Advance(5 * time.Second)
				err := v.steal(row, 6000)
				v.ok(err)
			}
			got = append(got, ids(b.Deliveries))
			return b.Tx.Put([]byte("k"), []byte(ids(b.Deliveries)))
		})
		v.tick(w, 1)
		same(v, "batches", got, []string{"ab", "a"})
		equal(v, "state", v.state("k"), "a")
		same(v, "rows", v.rows(7), []uint64{2})
		v.clock.Advance(5 * time.Second)
		v.tick(w, 1)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "a conflict runs the batch again", run: func(v *env) {
		v.post(7, "a")
		calls := 0
		w := v.batchWorker(runner.WorkerOptions{}, func(b *runner.Batched) error {
			read(v, b.Tx, "k")
			if calls++; calls == 1 {
				v.put("k", "theirs")
			}
			return b.Tx.Put([]byte("k"), []byte("ours"))
		})
		v.tick(w, 1)
		equal(v, "calls", calls, 2)
		equal(v, "state", v.state("k"), "ours")
	}},
	{name: "renewing a batch", run: func(v *env) {
		row := v.post(7, "a")
		w := v.batchWorker(runner.WorkerOptions{}, func(b *runner.Batched) error {
			v.clock.Advance(800 * time.Millisecond)
			v.ok(b.Renew(v.ctx))
			v.clock.Advance(800 * time.Millisecond)
			err := v.steal(row, 60_000)
			v.is(err, runner.ErrLeased)
			return nil
		})
		v.tick(w, 1)
	}},
}

var orderedCases = []test{
	{name: "a transient failure pauses it with the batch claimed", run: func(v *env) {
		for _, id := range []string{"a", "b", "c"} {
			v.post(7, id, runner.HighPriority)
		}
		var got []string
		away := true
		w := v.batchWorker(runner.WorkerOptions{Ordered: true, MaxBatch: 2}, func(b *runner.Batched) error {
			got = append(got, ids(b.Deliveries))
			if away {
				return runner.Retry(errHard, 50*time.Millisecond)
			}
			return nil
		})
		for i := range 10 {
			v.tick(w, 0)
			held, parked := v.leases(7)
			if held != 2 || parked != 0 {
				v.Fatalf("round %d: %d held, %d parked, want 2 and 0", i, held, parked)
			}
			equal(v, "sleep", w.IdleSleep(), ms(50))
			v.tick(w, 0) // too early
			v.clock.Advance(ms(50))
		}
		away = false
		v.tick(w, 2)
		v.tick(w, 1)
		same(v, "last", got[10:], []string{"ab", "c"})
		equal(v, "runs", len(got), 12)
		equal(v, "dead letters", len(v.dead()), 0)
		equal(v, "requeues", w.Metrics().Requeues, 0)
	}},
	{name: "by number, whatever the priority", run: func(v *env) {
		v.post(7, "1")
		v.post(7, "2", runner.HighPriority)
		v.arm(50, "t")
		v.post(7, "3")
		v.post(7, "4", runner.HighPriority)
		var got string
		w := v.batchWorker(runner.WorkerOptions{Ordered: true, MaxBatch: 3},
			func(b *runner.Batched) error { got += ids(b.Deliveries); return nil })
		v.tick(w, 3)
		v.tick(w, 2)
		equal(v, "order", got, "1234t")
	}},
	{name: "nothing overtakes a row that is delivered alone", unstarted: true, run: func(v *env) {
		lease := func(attempts byte) []byte {
			return []byte("LSE0\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
				string([]byte{attempts, 0, 0, 0}))
		}
		v.plant(raw{1, rowKey(7, 1), frame(7, "a")}, raw{3, rowKey(7, 1), lease(1)},
			raw{1, rowKey(7, 2), frame(7, "b")}, raw{3, rowKey(7, 2), lease(2)}, // processes died during it
			raw{1, rowKey(7, 3), frame(7, "c")})
		v.start()
		w, got := v.collector(runner.WorkerOptions{Ordered: true})
		v.tick(w, 3)
		same(v, "order", *got, []string{"a", "b", "c"})
	}},
	{name: "an ordered worker sleeps while somebody else holds its next row", run: func(v *env) {
		v.posts(7, "a", "b", "c")
		v.claimAndDie(runner.WorkerOptions{Ordered: true})
		v.ok(v.steal(at(7, 1), 500))
		w, got := v.collector(runner.WorkerOptions{Ordered: true, MaxIdle: time.Hour})
		v.tick(w, 0)
		equal(v, "sleep", w.IdleSleep(), ms(501-v.clock.Now().UnixMilli()))
		v.clock.Set(501)
		v.tick(w, 3)
		same(v, "order", *got, []string{"a", "b", "c"})
	}},
	{name: "nothing overtakes a row that somebody else holds", run: func(v *env) {
		v.posts(7, "a", "b", "c")
		err := v.steal(at(7, 2), 200)
		v.ok(err)
		var got string
		w := v.batchWorker(runner.WorkerOptions{Ordered: true},
			func(b *runner.Batched) error { got += ids(b.Deliveries); return nil })
		v.tick(w, 1)
		v.tick(w, 0)
		v.clock.Set(201)
		v.tick(w, 2)
		equal(v, "order", got, "abc")
	}},
	{name: "a hard failure is narrowed down to the message that fails", run: func(v *env) {
		v.posts(7, "a", "b", "X", "c")
		var got []string
		w := v.batchWorker(runner.WorkerOptions{Ordered: true}, func(b *runner.Batched) error {
			got = append(got, ids(b.Deliveries))
			for _, d := range b.Deliveries {
				if string(d.ID) == "X" {
					return errHard
				}
			}
			return nil
		})
		v.ticks(w, 12)
		same(v, "batches", got, []string{"abXc", "a", "b", "X", "X", "X", "X", "c"})
		equal(v, "dead", v.dead()[0].Source, at(7, 3))
		equal(v, "attempts", v.dead()[0].Attempts, 4)
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "parts that are permanently bad are re-framed, the rest goes on", run: func(v *env) {
		v.posts(7, "a", "b", "c")
		applied := ""
		w := v.batchWorker(runner.WorkerOptions{Ordered: true}, func(b *runner.Batched) error {
			for i, d := range b.Deliveries {
				if string(d.ID) == "b" {
					b.DeadLetter(i, frame(7, "bad part"), errHard)
					continue
				}
				applied += string(d.ID)
			}
			return nil
		})
		v.tick(w, 3)
		equal(v, "applied", applied, "ac")
		equal(v, "dead letters", len(v.dead()), 1)
	}},
	{name: "one by one: pause, hold, go on", run: func(v *env) {
		v.posts(7, "a", "b", "c")
		var got []string
		w := v.worker(7, runner.WorkerOptions{Ordered: true}, func(d *runner.Delivery) error {
			got = append(got, fmt.Sprintf("%s%d", d.ID, d.Attempts))
			switch {
			case string(d.ID) == "b" && len(got) == 2:
				return runner.Retry(errHard, ms(10))
			case string(d.ID) == "b" && len(got) == 3:
				return errHard
			}
			return nil
		})
		v.tick(w, 1)
		v.tick(w, 0)
		v.clock.Advance(ms(10))
		_, err := w.Tick(v.ctx)
		v.ok(err)
		_, err = w.Tick(v.ctx)
		v.ok(err)
		same(v, "order", got, []string{"a1", "b1", "b1", "b2", "c1"})
		same(v, "rows", v.rows(7), nil)
	}},
	{name: "it runs started as it runs ticked", unstarted: true, run: func(v *env) {
		v.opts.Sleep, v.opts.Now = nil, nil
		v.start()
		const total = 400
		done := make(chan struct{})
		next := uint64(1)
		fails := 0
		w := v.batchWorker(runner.WorkerOptions{Ordered: true, MaxBatch: 16, MaxIdle: time.Hour},
			func(b *runner.Batched) error {
				if fails++; fails%5 == 0 {
					return runner.Retry(errHard, time.Millisecond)
				}
				for _, d := range b.Deliveries {
					if d.Row.Seq != next {
						v.Errorf("row %d came, want %d", d.Row.Seq, next)
					}
					next++
				}
				if next > total {
					close(done)
				}
				return nil
			})
		v.ok(w.Start(v.ctx))
		v.number(7, total)
		<-done
	}},
}
