package runnertest

import (
	"bytes"
	"math"

	"wamble/runner"
)

func at(worker, seq uint64) runner.Row { return runner.Row{Worker: worker, Seq: seq} }

var mailboxCases = []test{
	{"claim, take over, acknowledge", func(v *env) {
		v.start()
		row := at(7, 1)
		_, err := v.r.Claim(v.ctx, row, 7, 150)
		v.is(err, runner.ErrNotFound)
		v.post(7, "a")
		first, err := v.r.Claim(v.ctx, row, 7, 150)
		v.ok(err)
		equal(v, "owner", uint32(first.Owner), 7)
		equal(v, "deadline and attempts", [2]int64{first.Deadline, int64(first.Attempts)}, [2]int64{150, 1})
		v.clock.Set(120)
		_, err = v.r.Claim(v.ctx, row, 8, 200)
		v.is(err, runner.ErrLeased)
		_, err = v.r.Claim(v.ctx, row, 7, 200)
		v.is(err, runner.ErrLeased) // its own too
		v.clock.Set(150)
		_, err = v.r.Claim(v.ctx, row, 8, 260)
		v.is(err, runner.ErrLeased) // the deadline itself is within
		v.clock.Set(151)
		second, err := v.r.Claim(v.ctx, row, 8, 260)
		v.ok(err)
		equal(v, "owner", uint32(second.Owner), 8)
		equal(v, "deadline and attempts", [2]int64{second.Deadline, int64(second.Attempts)}, [2]int64{260, 2})
		v.is(v.r.Ack(v.ctx, row, first), runner.ErrLeaseLost)
		_, err = v.r.Requeue(v.ctx, row, first, 0)
		v.is(err, runner.ErrLeaseLost)
		v.clock.Set(1000)
		v.ok(v.r.Ack(v.ctx, row, second)) // late, but nobody took it over
		same(v, "rows", v.rows(7), nil)
		held, parked := v.leases(7)
		equal(v, "leases", held+parked, 0)
		v.is(v.r.Ack(v.ctx, row, second), runner.ErrNotFound)
	}},
	{"acknowledge without a lease", func(v *env) {
		v.start()
		row := v.post(7, "a")
		v.is(v.r.Ack(v.ctx, row, runner.Lease{}), runner.ErrNotFound)
		same(v, "rows", v.rows(7), []uint64{1})
	}},
	{"requeue keeps the bytes and the count, and leaves its place", func(v *env) {
		v.start()
		v.insert(12, 50, "x")
		v.insert(12, 59, "y")
		token, err := v.r.Claim(v.ctx, at(12, 50), 12, 200)
		v.ok(err)
		to, err := v.r.Requeue(v.ctx, at(12, 50), token, 99)
		v.ok(err)
		equal(v, "new row", to, at(12, 60))
		list, err := v.r.Inbox(12, 0, 10)
		v.ok(err)
		equal(v, "rows", len(list), 2)
		equal(v, "bytes", bytes.Equal(list[1].Frame, frame(12, "x")), true)
		equal(v, "parked lease", list[1].Lease, runner.Lease{Deadline: 99, Attempts: 1})
		again, err := v.r.Claim(v.ctx, to, 12, 200)
		v.ok(err)
		equal(v, "attempts", again.Attempts, 2)
	}},
	{"renew", func(v *env) {
		v.start()
		row := v.post(7, "a")
		token, err := v.r.Claim(v.ctx, row, 7, 150)
		v.ok(err)
		longer, err := v.r.Renew(v.ctx, row, token, 500)
		v.ok(err)
		equal(v, "attempts", longer.Attempts, 1)
		v.clock.Set(400)
		_, err = v.r.Claim(v.ctx, row, 8, 600)
		v.is(err, runner.ErrLeased)
		v.is(v.r.Ack(v.ctx, row, token), runner.ErrLeaseLost)
		v.ok(v.r.Ack(v.ctx, row, longer))
	}},
	{"a lease that does not decode is over", func(v *env) {
		v.plant(raw{1, rowKey(7, 1), frame(7, "a")}, raw{3, rowKey(7, 1), []byte("garbage")})
		v.start()
		token, err := v.r.Claim(v.ctx, at(7, 1), 7, 150)
		v.ok(err)
		v.ok(v.r.Ack(v.ctx, at(7, 1), token))
	}},
	{"attempts do not overflow", func(v *env) {
		v.plant(raw{1, rowKey(7, 1), frame(7, "a")},
			raw{3, rowKey(7, 1), []byte("LSE0\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff")})
		v.start()
		_, err := v.r.Claim(v.ctx, at(7, 1), 7, 150)
		v.is(err, runner.ErrTooLarge)
	}},
	{"insert never overwrites", func(v *env) {
		v.start()
		v.insert(7, 5, "a")
		v.is(v.r.Insert(v.ctx, at(7, 5), frame(7, "b")), runner.ErrExists)
		v.is(v.r.Insert(v.ctx, at(7, 4), frame(7, "b")), runner.ErrExists)
		v.is(v.r.Insert(v.ctx, at(7, 6), nil), runner.ErrInvalid)
		same(v, "rows", v.rows(7), []uint64{5})
	}},
	{"numbers never run over", func(v *env) {
		v.start()
		for _, seq := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63} {
			v.is(v.r.Insert(v.ctx, at(7, seq), frame(7, "x")), runner.ErrTooLarge)
		}
		v.insert(7, 1<<63-1, "a")
		v.post(7, "b")
		v.restart()
		v.post(7, "c")
		w, got := v.collector(runner.WorkerOptions{})
		v.tick(w, 3)
		same(v, "delivered", *got, []string{"a", "b", "c"})
	}},
	{"a number of another program that leaves none", func(v *env) {
		v.plant(raw{1, rowKey(7, math.MaxUint64), frame(7, "a")})
		_, err := runner.Open(v.storage, v.opts)
		v.is(err, runner.ErrTooLarge)
	}},
	{"frames are bounded and checked at the entrance", func(v *env) {
		v.opts.MaxFrame = 200
		v.start()
		big := runner.Message{To: 7, ID: []byte("m"), Payload: make([]byte, 200-61)}
		_, err := v.r.Post(v.ctx, &big)
		v.ok(err)
		big.Payload = make([]byte, 200-60)
		_, err = v.r.Post(v.ctx, &big)
		v.is(err, runner.ErrTooLarge)
		v.is(v.r.Insert(v.ctx, at(7, 9), make([]byte, 201)), runner.ErrTooLarge)
		_, err = v.r.PostFrame(v.ctx, []byte("junk"))
		v.is(err, runner.ErrTruncated)
		_, err = v.r.Post(v.ctx, &runner.Message{To: 7, Kind: 9})
		v.is(err, runner.ErrInvalid)
		_, err = v.r.Post(v.ctx, &runner.Message{To: 1 << 63, ID: []byte("m")})
		v.is(err, runner.ErrInvalid)
	}},
	{"sequence numbers are never used again, also after a restart", func(v *env) {
		v.start()
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		equal(v, "first", v.post(7, "a").Seq, 1)
		v.tick(w, 1)
		v.restart()
		equal(v, "second", v.post(7, "b").Seq, 2)
	}},
}
