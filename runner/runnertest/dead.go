package runnertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"wamble/runner"
)

// bury posts a message to an empty inbox, and makes it a dead letter.
func (v *env) bury(worker uint64, id string) runner.DeadLetter {
	v.Helper()
	v.post(worker, id)
	w := v.worker(worker, runner.WorkerOptions{},
		func(*runner.Delivery) error { return runner.Discard(errors.New("buried " + id)) })
	v.tick(w, 0)
	v.ok(w.Remove())
	dead := v.dead()
	for i := range dead {
		if m, err := runner.DecodeMessage(dead[i].Frame); err == nil && string(m.ID) == id {
			return dead[i]
		}
	}
	v.Fatalf("%s is no dead letter", id)
	return runner.DeadLetter{}
}

var deadCases = []test{
	{name: "move", run: func(v *env) {
		d := v.bury(7, "a")
		same(v, "rows", v.rows(7), nil)
		held, parked := v.leases(7)
		equal(v, "leases", held+parked, 0)
		equal(v, "frame", bytes.Equal(d.Frame, frame(7, "a")), true)
		equal(v, "source", d.Source, at(7, 1))
		equal(v, "reason", d.Reason, "buried a")
		equal(v, "attempts", d.Attempts, 1)
		equal(v, "count", v.r.Stats().DeadLetters, 1)
	}},
	{name: "no record replaces another", run: func(v *env) {
		first, second := v.bury(7, "a"), v.bury(7, "b")
		equal(v, "rows differ", first.Row != second.Row, true)
		v.restart()
		third := v.bury(7, "c")
		equal(v, "number is new", third.Row.Seq > second.Row.Seq, true)
		equal(v, "dead letters", len(v.dead()), 3)
	}},
	{name: "replay one", run: func(v *env) {
		d := v.bury(11, "x")
		v.post(11, "tail")
		to, err := v.r.ReplayDeadLetter(v.ctx, d.Row)
		v.ok(err)
		equal(v, "row", to, at(11, 3))
		equal(v, "dead letters", len(v.dead()), 0)
		_, err = v.r.ReplayDeadLetter(v.ctx, d.Row)
		v.is(err, runner.ErrNotFound)
		attempts := uint32(0)
		w := v.worker(11, runner.WorkerOptions{}, func(d *runner.Delivery) error { attempts = d.Attempts; return nil })
		v.tick(w, 2)
		equal(v, "a fresh budget", attempts, 1)
	}},
	{name: "replay many, filtered", run: func(v *env) {
		for i := range 600 {
			v.bury(uint64(i%2), fmt.Sprint(i))
		}
		n, err := v.r.ReplayDeadLetters(v.ctx, runner.DeadFilter{Worker: 1, HasWorker: true})
		v.ok(err)
		equal(v, "replayed", n, 300)
		equal(v, "left", v.r.Stats().DeadLetters, 300)
		equal(v, "rows of 1", len(v.rows(1)), 300)
		n, err = v.r.ReplayDeadLetters(v.ctx, runner.DeadFilter{ID: []byte("4")})
		v.ok(err)
		equal(v, "replayed by id", n, 1)
	}},
	{name: "filters", run: func(v *env) {
		v.bury(7, "a")
		v.clock.Set(200)
		v.post(7, "b")
		w := v.worker(7, runner.WorkerOptions{Policy: &runner.Policy{RetryBudget: 1}},
			func(*runner.Delivery) error { return errHard })
		v.tick(w, 0)
		for _, c := range []struct {
			f    runner.DeadFilter
			want int
		}{
			{runner.DeadFilter{}, 2},
			{runner.DeadFilter{Cause: runner.CauseBudget, HasCause: true}, 1},
			{runner.DeadFilter{Since: when(150)}, 1}, {runner.DeadFilter{Until: when(150)}, 1}, {runner.DeadFilter{Until: when(100)}, 0},
			{runner.DeadFilter{Worker: 8, HasWorker: true}, 0}, {runner.DeadFilter{ID: []byte("a")}, 1},
		} {
			list, err := v.r.DeadLetters(c.f, runner.Row{}, 10)
			v.ok(err)
			equal(v, fmt.Sprintf("%+v", c.f), len(list), c.want)
		}
	}},
	{name: "drop one, drop many", run: func(v *env) {
		d := v.bury(7, "a")
		v.bury(7, "b")
		v.clock.Set(500)
		v.bury(7, "c")
		v.ok(v.r.DropDeadLetter(v.ctx, d.Row))
		v.is(v.r.DropDeadLetter(v.ctx, d.Row), runner.ErrNotFound)
		n, err := v.r.DropDeadLetters(v.ctx, runner.DeadFilter{Until: when(500)})
		v.ok(err)
		equal(v, "dropped", n, 1)
		equal(v, "left", v.dead()[0].Reason, "buried c")
	}},
	{name: "paging", run: func(v *env) {
		for i := range 5 {
			v.bury(7, fmt.Sprint(i))
		}
		var after runner.Row
		var got []string
		for {
			list, err := v.r.DeadLetters(runner.DeadFilter{}, after, 2)
			v.ok(err)
			if len(list) == 0 {
				break
			}
			for _, d := range list {
				got = append(got, strings.TrimPrefix(d.Reason, "buried "))
				after = at(d.Row.Worker, d.Row.Seq+1)
			}
		}
		same(v, "all", got, []string{"0", "1", "2", "3", "4"})
	}},
	{name: "a record that does not decode hides nothing", unstarted: true, run: func(v *env) {
		v.plant(raw{6, rowKey(1, 1), []byte("garbage")})
		v.start()
		v.bury(7, "a")
		list := v.dead()
		equal(v, "listed", len(list), 2)
		equal(v, "bytes", string(list[0].Frame), "garbage")
		_, err := v.r.ReplayDeadLetter(v.ctx, at(1, 1))
		v.is(err, runner.ErrFormat)
		n, err := v.r.ReplayDeadLetters(v.ctx, runner.DeadFilter{})
		v.ok(err)
		equal(v, "replayed", n, 1)
		v.ok(v.r.DropDeadLetter(v.ctx, at(1, 1)))
		equal(v, "left", len(v.dead()), 0)
	}},
	{name: "export", run: func(v *env) {
		v.bury(8, "b")
		v.bury(7, "a")
		var out bytes.Buffer
		for _, d := range v.dead() {
			v.ok(d.Export(&out))
		}
		equal(v, "exported", bytes.Count(out.Bytes(), []byte{'\n'}), 2)
		var line struct {
			Worker, Seq   uint64
			Cause, Reason string
			Time          string
			Frame         []byte
		}
		dec := json.NewDecoder(&out)
		v.ok(dec.Decode(&line))
		equal(v, "worker", line.Worker, 7)
		equal(v, "time", line.Time, "1970-01-01T00:00:00.1Z")
		equal(v, "frame", bytes.Equal(line.Frame, frame(7, "a")), true)
		v.is(v.dead()[0].Export(failingWriter{}), errFull)
	}},
	{name: "show one that is not there", run: func(v *env) {
		_, err := v.r.DeadLetter(at(1, 1))
		v.is(err, runner.ErrNotFound)
	}},
}

var errFull = errors.New("full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
