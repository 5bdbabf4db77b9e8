package runnertest

import (
	"bytes"
	"errors"
	"strings"

	"wamble/runner"
	"wamble/runner/memstore"
)

const markerKey = "runner.schema.version"

var bootCases = []test{
	{name: "marker absent and create off", unstarted: true, run: func(v *env) {
		v.opts.Create = false
		_, err := runner.Open(v.storage, v.opts)
		v.is(err, runner.ErrNoSchema)
		equal(v, "marker written", v.stored(0, []byte(markerKey)) != nil, false)
	}},
	{name: "marker absent and create on", run: func(v *env) {
		equal(v, "state", v.r.State(), runner.Running)
		v.ok(v.r.Close())
		equal(v, "state", v.r.State(), runner.Stopped)
		equal(v, "marker", string(v.stored(0, []byte(markerKey))), "RSV0\x00\x00\x00\x00")
	}},
	{name: "same version again, create off", run: func(v *env) {
		v.opts.Create = false
		v.restart()
		equal(v, "state", v.r.State(), runner.Running)
	}},
	{name: "another version is refused and the marker stays", unstarted: true, run: func(v *env) {
		v.opts.Schema = runner.Version{Major: 1, Minor: 2}
		v.start()
		v.ok(v.r.Close())
		for _, other := range []runner.Version{{Major: 1, Minor: 1}, {Major: 1, Minor: 3}, {Major: 2, Minor: 2},
			{Major: 0, Minor: 2}} {
			v.opts.Schema = other
			_, err := runner.Open(v.storage, v.opts)
			v.is(err, runner.ErrSchema)
			equal(v, "marker", string(v.stored(0, []byte(markerKey))), "RSV0\x01\x00\x02\x00")
		}
	}},
	{name: "a higher minor is served if its program said so, and stays", unstarted: true, run: func(v *env) {
		needs := func() string { return string(v.stored(0, []byte("runner.schema.needs"))) }
		v.opts.Schema, v.opts.Needs = runner.Version{Major: 1, Minor: 4}, runner.Version{Major: 1, Minor: 2}
		v.start()
		v.ok(v.r.Close())
		equal(v, "needs", needs(), "RSV0\x01\x00\x02\x00")
		v.opts.Migrate = func(*runner.Tx, runner.Version) error { return errors.New("nothing is to be migrated") }
		for _, older := range []uint16{3, 2} {
			v.opts.Schema, v.opts.Needs = runner.Version{Major: 1, Minor: older}, runner.Version{}
			v.start()
			equal(v, "schema", v.r.Stats().Schema, runner.Version{Major: 1, Minor: 4})
			v.ok(v.r.Close())
			equal(v, "marker", string(v.stored(0, []byte(markerKey))), "RSV0\x01\x00\x04\x00")
			equal(v, "needs", needs(), "RSV0\x01\x00\x02\x00")
		}
		for _, other := range []runner.Version{{Major: 1, Minor: 1}, {Major: 2, Minor: 3}, {Major: 0, Minor: 3}} {
			v.opts.Schema = other
			_, err := runner.Open(v.storage, v.opts)
			v.is(err, runner.ErrSchema)
			equal(v, "both versions are told", strings.Contains(err.Error(),
				"stored 1.4, which needs a program that serves 1.2, this one serves "+other.String()), true)
		}
		v.opts.Schema = runner.Version{Major: 1, Minor: 4} // which now needs all of it
		v.start()
		v.ok(v.r.Close())
		equal(v, "needs", needs(), "")
		v.opts.Schema.Minor = 3
		_, err := runner.Open(v.storage, v.opts)
		v.is(err, runner.ErrSchema)
	}},
	{name: "a marker of 7 bytes or another magic", unstarted: true, run: func(v *env) {
		for _, bad := range []string{"RSV0\x01\x00\x02", "RSV1\x01\x00\x02\x00", ""} {
			v.plant(raw{0, []byte(markerKey), []byte(bad)})
			_, err := runner.Open(v.storage, v.opts)
			v.is(err, runner.ErrSchema)
		}
	}},
	{name: "an older minor is migrated with its state in one commit", unstarted: true, run: func(v *env) {
		v.opts.Schema = runner.Version{Major: 1, Minor: 1}
		v.start()
		_, err := v.r.Update(v.ctx, runner.AttemptPolicy{},
			func(tx *runner.Tx) error { return tx.Put([]byte("k"), []byte("old")) })
		v.ok(err)
		v.ok(v.r.Close())
		v.opts.Schema.Minor = 4
		failing := errors.New("cannot")
		v.opts.Migrate = func(tx *runner.Tx, from runner.Version) error {
			v.ok(tx.Put([]byte("k"), []byte("half")))
			return failing
		}
		_, err = runner.Open(v.storage, v.opts)
		v.is(err, failing)
		v.opts.Migrate = func(tx *runner.Tx, from runner.Version) error {
			equal(v, "from", from, runner.Version{Major: 1, Minor: 1})
			old, err := tx.Get([]byte("k"))
			v.ok(err)
			return tx.Put([]byte("k"), append(old, "+new"...))
		}
		v.start()
		v.ok(v.r.View(func(get func([]byte) ([]byte, error)) error {
			got, err := get([]byte("k"))
			equal(v, "state", string(got), "old+new")
			return err
		}))
		v.ok(v.r.Close())
		equal(v, "marker", string(v.stored(0, []byte(markerKey))), "RSV0\x01\x00\x04\x00")
	}},
	{name: "epoch rises, journal id stays", run: func(v *env) {
		id := v.r.JournalID()
		equal(v, "epoch", v.r.Stats().Epoch, 1)
		v.restart()
		equal(v, "epoch", v.r.Stats().Epoch, 2)
		equal(v, "journal", v.r.JournalID(), id)
		equal(v, "journal is random", id != runner.JournalID{}, true)
	}},
	{name: "two storages have two journal ids", run: func(v *env) {
		other, err := runner.Open(memstore.New(), v.opts)
		v.ok(err)
		defer other.Close()
		equal(v, "ids differ", v.r.JournalID() != other.JournalID(), true)
	}},
	{name: "it is locked while it is open", run: func(v *env) {
		_, err := runner.Open(v.storage, v.opts)
		v.is(err, runner.ErrLocked)
		v.post(7, "a")
	}},
	{name: "workers join a live process, between transactions", run: func(v *env) {
		err := v.r.View(func(get func([]byte) ([]byte, error)) error {
			w := v.worker(9, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
			v.post(9, "a")
			v.tick(w, 1)
			return nil
		})
		v.ok(err)
	}},
	{name: "rows of the original are adopted", unstarted: true, run: func(v *env) {
		m02 := frame(7, "m1")
		v.plant(
			raw{1, rowKey(7, 99), m02}, raw{1, rowKey(7, 100), m02},
			raw{3, rowKey(7, 99), []byte("LSE0\x07\x00\x00\x00\x00\x00\x00\x00\x60\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00")},
			raw{6, rowKey(3, 10), append([]byte("DLQ0\x07\x00\x00\x00\x04\x00\x00\x00"),
				append([]byte{byte(len(m02)), 0, 0, 0}, m02...)...)},
		)
		v.start()
		same(v, "rows", v.rows(7), []uint64{99, 100})
		dead := v.dead()
		equal(v, "dead letters", len(dead), 1)
		equal(v, "code", dead[0].Code, 7)
		equal(v, "attempts", dead[0].Attempts, 4)
		equal(v, "frame", bytes.Equal(dead[0].Frame, m02), true)
		var seen []uint32
		w := v.worker(7, runner.WorkerOptions{}, func(d *runner.Delivery) error {
			seen = append(seen, d.Attempts)
			return nil
		})
		v.tick(w, 2)
		same(v, "attempts", seen, []uint32{2, 1})
		equal(v, "next row", v.post(7, "n").Seq, 101)
	}},
	{name: "closing twice is fine, using a closed one is not", run: func(v *env) {
		v.ok(v.r.Close())
		v.ok(v.r.Close())
		_, err := v.r.Post(v.ctx, msg(7, "a"))
		v.is(err, runner.ErrStopped)
		_, err = v.r.Inbox(7, 0, 1)
		v.is(err, runner.ErrStopped)
		v.is(v.r.Reopen(), runner.ErrStopped)
	}},
}

var stepCases = []test{
	{name: "table", run: func(v *env) {
		calls := 0
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { calls++; return nil })
		v.ok(w.Step(v.ctx, frame(7, "a")))
		equal(v, "calls", calls, 1)
		equal(v, "steps", w.Steps(), 1)
		v.is(w.Step(v.ctx, frame(8, "a")), runner.ErrMisrouted)
		broken := frame(7, "a")
		broken[0] = 'X'
		v.is(w.Step(v.ctx, broken), runner.ErrFormat)
		v.is(w.Step(v.ctx, nil), runner.ErrTruncated)
		equal(v, "calls", calls, 1)
		equal(v, "steps", w.Steps(), 1)
		w.Stop()
		v.is(w.Step(v.ctx, frame(7, "a")), runner.ErrStopped)
		other := v.worker(9, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.ok(v.r.Close())
		v.is(other.Step(v.ctx, frame(9, "a")), runner.ErrStopped)
	}},
	{name: "worker 4294967295 is not worker -1", run: func(v *env) {
		w := v.worker(4294967295, runner.WorkerOptions{}, func(*runner.Delivery) error { return nil })
		v.is(w.Step(v.ctx, frame(1<<63, "a")), runner.ErrMisrouted)
		v.ok(w.Step(v.ctx, frame(4294967295, "a")))
	}},
	{name: "a handler's error is the step's", run: func(v *env) {
		w := v.worker(7, runner.WorkerOptions{}, func(*runner.Delivery) error { return errHard })
		v.is(w.Step(v.ctx, frame(7, "a")), errHard)
		equal(v, "steps", w.Steps(), 0)
	}},
	{name: "a worker needs exactly one handler", run: func(v *env) {
		_, err := v.r.NewWorker(7, runner.WorkerOptions{})
		v.is(err, runner.ErrInvalid)
	}},
}
