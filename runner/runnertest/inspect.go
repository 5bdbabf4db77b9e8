package runnertest

import (
	"context"

	"wamble/runner"
)

// stopped leaves a closed runner with two messages, a timer and a dead letter, and returns its
// journal id.
func (v *env) stopped() runner.JournalID {
	v.Helper()
	v.start()
	v.posts(7, "a", "b")
	v.arm(500, "timer")
	v.bury(8, "dead")
	v.ok(v.r.Close())
	return v.r.JournalID()
}

// dump returns the whole content of a storage that is not open.
func (v *env) dump() (rows []string) {
	v.Helper()
	b, err := v.storage.Open(func(error) {})
	v.ok(err)
	v.ok(b.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) bool {
		rows = append(rows, string(key)+"="+string(value))
		return true
	}))
	v.ok(b.Close())
	return rows
}

var inspectCases = []test{
	{name: "reading only shows everything and changes nothing", unstarted: true, run: func(v *env) {
		id := v.stopped()
		before := v.dump()
		r, err := runner.OpenReadOnly(v.storage, v.opts)
		v.ok(err)
		s := r.Stats()
		equal(v, "journal", s.Journal, id)
		equal(v, "epoch", s.Epoch, 1)
		equal(v, "timers", s.Timers, 1)
		equal(v, "dead letters", s.DeadLetters, 1)
		rows, err := r.Inbox(7, 0, 10)
		v.ok(err)
		equal(v, "rows", len(rows), 2)
		_, err = r.Post(v.ctx, msg(7, "x"))
		v.is(err, runner.ErrReadOnly)
		_, err = r.ReplayDeadLetters(v.ctx, runner.DeadFilter{})
		v.is(err, runner.ErrReadOnly)
		_, err = r.Update(v.ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error { return tx.Put([]byte("k"), nil) })
		v.is(err, runner.ErrReadOnly)
		v.is(r.Flush(), runner.ErrReadOnly)
		v.is(r.Reopen(), runner.ErrReadOnly)
		v.is(r.Restore(v.place("checkpoint")), runner.ErrReadOnly)
		v.ok(r.Close())
		same(v, "content", v.dump(), before)
	}},
	{name: "reading only is refused where nothing is, another schema, or another runner", unstarted: true, run: func(v *env) {
		_, err := runner.OpenReadOnly(v.storage, v.opts)
		v.is(err, runner.ErrNoSchema)
		v.stopped()
		other := v.opts
		other.Schema.Major++
		_, err = runner.OpenReadOnly(v.storage, other)
		v.is(err, runner.ErrSchema)
		v.start()
		_, err = runner.OpenReadOnly(v.storage, v.opts)
		v.is(err, runner.ErrLocked)
		v.is(runner.Restore(v.storage, v.place("checkpoint"), v.opts), runner.ErrLocked)
	}},
	{name: "a stopped runner is copied and restored, under a new journal id", unstarted: true, run: func(v *env) {
		id := v.stopped()
		place := v.place("checkpoint")
		r, err := runner.OpenReadOnly(v.storage, v.opts)
		v.ok(err)
		v.ok(r.Checkpoint(place))
		equal(v, "second refused", r.Checkpoint(place) != nil, true)
		v.ok(r.Close())
		v.start()
		v.post(7, "lost")
		v.ok(v.r.Close())
		v.ok(runner.Restore(v.storage, place, v.opts))
		v.start()
		same(v, "rows", v.rows(7), []uint64{1, 2})
		equal(v, "new journal", v.r.JournalID() != id, true)
		equal(v, "next row", v.post(7, "c").Seq, 3)
	}},
	{name: "a checkpoint that cannot be served changes nothing", unstarted: true, run: func(v *env) {
		v.stopped()
		place := v.place("checkpoint")
		v.start()
		v.ok(v.r.Checkpoint(place))
		v.ok(v.r.Close())
		before := v.dump()
		other := v.opts
		other.Schema.Major++
		v.is(runner.Restore(v.storage, place, other), runner.ErrSchema)
		equal(v, "missing one refused", runner.Restore(v.storage, v.place("nothing"), v.opts) != nil, true)
		same(v, "content", v.dump(), before)
	}},
	{name: "a look leaves leases as they are", run: func(v *env) {
		row := v.post(7, "a")
		err := v.steal(row, 5000)
		v.ok(err)
		v.ok(v.r.Close())
		r, err := runner.OpenReadOnly(v.storage, v.opts)
		v.ok(err)
		equal(v, "leased", r.Stats().Inboxes[0].Leased, 1)
		w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx,
			*runner.Delivery) error {
			return nil
		}})
		v.ok(err)
		_, err = w.Tick(v.ctx)
		v.is(err, runner.ErrReadOnly)
		v.ok(r.Close())
	}},
}
