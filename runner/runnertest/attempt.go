package runnertest

import (
	"errors"
	"time"

	"wamble/runner"
)

var attemptCases = []test{
	{name: "one attempt", run: func(v *env) {
		s, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error {
			v.ok(tx.Emit(b("i")))
			return tx.Put(b("k"), b("v"))
		})
		v.ok(err)
		equal(v, "stats", s, runner.AttemptStats{Attempts: 1})
		same(v, "outbox", v.outbox(), []string{"i"})
	}},
	{name: "a conflict once", run: func(v *env) {
		v.put("k", "0")
		calls := 0
		s, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			read(v, tx, "k")
			if calls++; calls == 1 {
				v.put("k", "theirs")
			}
			return tx.Put(b("k"), b("ours"))
		})
		v.ok(err)
		equal(v, "stats", s, runner.AttemptStats{Attempts: 2, Retries: 1, Conflicts: 1})
		equal(v, "sleeps", len(v.clock.Slept()), 1)
		equal(v, "k", v.state("k"), "ours")
	}},
	{name: "an absent key that appears", run: func(v *env) {
		calls := 0
		s, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			read(v, tx, "k")
			if calls++; calls == 1 {
				v.put("k", "x")
			}
			return nil
		})
		v.ok(err)
		equal(v, "conflicts", s.Conflicts, 1)
	}},
	{name: "always a conflict", run: func(v *env) {
		s, err := v.r.Update(v.ctx, runner.AttemptPolicy{Retries: 2},
			func(tx *runner.Tx) error { return runner.ErrConflict })
		v.is(err, runner.ErrConflict)
		equal(v, "stats", s, runner.AttemptStats{Attempts: 3, Retries: 2, Conflicts: 2})
		equal(v, "sleeps", len(v.clock.Slept()), 2)
	}},
	{name: "a child left open, the root aborted", run: func(v *env) {
		us := time.Microsecond
		for name, f := range map[string]func(tx *runner.Tx) error{
			"child open":   func(tx *runner.Tx) error { _, err := tx.Begin(); return err },
			"root aborted": func(tx *runner.Tx) error { return tx.Abort() },
		} {
			before := len(v.clock.Slept())
			s, err := v.r.Update(v.ctx, runner.AttemptPolicy{NoJitter: true}, f)
			if !errors.Is(err, runner.ErrNesting) || s.Attempts != 4 {
				v.Errorf("%s: got %v after %d attempts, want ErrNesting after 4", name, err, s.Attempts)
			}
			same(v, name, v.clock.Slept()[before:], []time.Duration{250 * us, 500 * us, 1000 * us})
		}
	}},
	{name: "back-off doubles up to its bound, with jitter below it", run: func(v *env) {
		want := []time.Duration{250, 500, 1000, 2000, 4000, 8000, 10000, 10000, 10000, 10000}
		for _, exact := range []bool{true, false} {
			before := len(v.clock.Slept())
			_, err := v.r.Update(v.ctx, runner.AttemptPolicy{Retries: 10, NoJitter: exact},
				func(*runner.Tx) error { return errBusy })
			v.is(err, errBusy)
			slept := v.clock.Slept()[before:]
			equal(v, "sleeps", len(slept), len(want))
			for i, d := range slept {
				full := want[i] * time.Microsecond
				if exact && d != full || d > full || d < full/2 {
					v.Errorf("sleep %d: got %v, want %v (exact %v)", i, d, full, exact)
				}
			}
		}
	}},
	{name: "another error ends it at once, a panic too", run: func(v *env) {
		s, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, func(*runner.Tx) error { return errHard })
		v.is(err, errHard)
		equal(v, "attempts", s.Attempts, 1)
		_, err = v.r.Update(v.ctx, runner.AttemptPolicy{}, func(*runner.Tx) error { panic("boom") })
		var p *runner.PanicError
		equal(v, "panic", errors.As(err, &p), true)
		v.put("k", "still works")
	}},
}
