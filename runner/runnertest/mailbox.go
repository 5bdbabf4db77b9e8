package runnertest

import (
	"math"

	"wamble/runner"
)

func at(worker, seq uint64) runner.Row { return runner.Row{Worker: worker, Seq: seq} }

var mailboxCases = []test{
	{name: "a lease that does not decode is over", unstarted: true, run: func(v *env) {
		v.plant(raw{1, rowKey(7, 1), frame(7, "a")}, raw{3, rowKey(7, 1), []byte("garbage")})
		v.start()
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.tick(w, 1)
	}},
	{name: "attempts do not overflow", unstarted: true, run: func(v *env) {
		v.plant(raw{1, rowKey(7, 1), frame(7, "a")},
			raw{3, rowKey(7, 1), []byte("LSE0\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff")})
		v.start()
		err := v.steal(at(7, 1), 150)
		v.is(err, runner.ErrTooLarge)
	}},
	{name: "insert never overwrites", run: func(v *env) {
		v.insert(7, 5, "a")
		v.is(v.store(7, 5, frame(7, "b")), runner.ErrExists)
		v.is(v.store(7, 4, frame(7, "b")), runner.ErrExists)
		v.is(v.store(7, 6, nil), runner.ErrInvalid)
		same(v, "rows", v.rows(7), []uint64{5})
	}},
	{name: "numbers never run over", run: func(v *env) {
		for _, seq := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63} {
			v.is(v.store(7, seq, frame(7, "x")), runner.ErrTooLarge)
		}
		v.insert(7, 1<<63-1, "a")
		v.post(7, "b")
		v.restart()
		v.post(7, "c")
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 3)
		same(v, "delivered", *got, []string{"a", "b", "c"})
	}},
	{name: "a number of another program that leaves none", unstarted: true, run: func(v *env) {
		v.plant(raw{1, rowKey(7, math.MaxUint64), frame(7, "a")})
		_, err := runner.Open(v.storage, v.opts)
		v.is(err, runner.ErrTooLarge)
	}},
	{name: "frames are bounded and checked at the entrance", unstarted: true, run: func(v *env) {
		v.opts.MaxFrame = 200
		v.start()
		big := runner.Message{To: 7, ID: []byte("m"), Payload: make([]byte, 200-61)}
		_, err := v.r.Post(v.ctx, &big)
		v.ok(err)
		big.Payload = make([]byte, 200-60)
		_, err = v.r.Post(v.ctx, &big)
		v.is(err, runner.ErrTooLarge)
		v.is(v.store(7, 9, make([]byte, 201)), runner.ErrTooLarge)
		_, err = v.r.Post(v.ctx, &runner.Message{To: 7, Kind: 9})
		v.is(err, runner.ErrInvalid)
		_, err = v.r.Post(v.ctx, &runner.Message{To: 1 << 63, ID: []byte("m")})
		v.is(err, runner.ErrInvalid)
	}},
	{name: "sequence numbers are never used again, also after a restart", run: func(v *env) {
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		equal(v, "first", v.post(7, "a").Seq, 1)
		v.tick(w, 1)
		v.restart()
		equal(v, "second", v.post(7, "b").Seq, 2)
	}},
}
