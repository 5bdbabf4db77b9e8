package runnertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"wamble/runner"
)

func b(s string) []byte { return []byte(s) }

func (v *env) put(key, value string) {
	v.Helper()
	v.update(func(tx *runner.Tx) error { return tx.Put(b(key), b(value)) })
}

// state returns the value of key, or "-" if it is absent.
func (v *env) state(key string) string {
	v.Helper()
	out := "-"
	v.ok(v.r.View(func(get func([]byte) ([]byte, error)) error {
		value, err := get(b(key))
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		out = string(value)
		return err
	}))
	return out
}

func read(v *env, tx *runner.Tx, key string) string {
	v.Helper()
	value, err := tx.Get(b(key))
	if errors.Is(err, runner.ErrNotFound) {
		return "-"
	}
	v.ok(err)
	return string(value)
}

var errRolledBack = errors.New("rolled back")

var none = runner.AttemptPolicy{Retries: -1}

var txCases = []test{
	{name: "what was read is validated", run: func(v *env) {
		v.put("k", "v1")
		for _, change := range []func(){func() { v.put("k", "v2") }, func() { v.put("missing", "now there") }} {
			_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error {
				read(v, tx, "k")
				read(v, tx, "k")
				read(v, tx, "missing")
				change()
				return tx.Put(b("out"), b("x"))
			})
			v.is(err, runner.ErrConflict)
		}
		equal(v, "nothing written", v.state("out"), "-")
	}},
	{name: "the last write of a key wins, deleting an absent key is fine", run: func(v *env) {
		v.put("b", "old")
		v.update(func(tx *runner.Tx) error {
			v.ok(tx.Put(b("a"), b("v1")))
			v.ok(tx.Put(b("a"), b("v2")))
			v.ok(tx.Delete(b("b")))
			return tx.Delete(b("never was"))
		})
		equal(v, "a", v.state("a"), "v2")
		equal(v, "b", v.state("b"), "-")
	}},
	{name: "thousands of rollbacks leave nothing behind", run: func(v *env) {
		for n := range 100 {
			v.put("kept", strconv.Itoa(n))
			for range 30 {
				_, err := v.r.Update(v.ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
					v.ok(tx.Put(b("kept"), b("lost")))
					v.ok(tx.Put(b("never"), b("lost")))
					v.ok(tx.Delete(b("absent")))
					return errRolledBack
				})
				v.is(err, errRolledBack)
			}
			equal(v, "kept", v.state("kept"), strconv.Itoa(n))
		}
		equal(v, "never", v.state("never"), "-")
	}},
	{name: "own writes are read, and are not validated", run: func(v *env) {
		_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error {
			v.ok(tx.Put(b("k"), b("local")))
			equal(v, "own", read(v, tx, "k"), "local")
			v.ok(tx.Delete(b("k")))
			equal(v, "deleted", read(v, tx, "k"), "-")
			v.ok(tx.Put(b("k"), nil))
			equal(v, "empty", read(v, tx, "k"), "")
			v.put("k", "other")
			return nil
		})
		v.ok(err)
		equal(v, "k", v.state("k"), "")
	}},
	{name: "a snapshot does not move", run: func(v *env) {
		v.put("a", "1")
		v.put("b", "1")
		_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error {
			equal(v, "a", read(v, tx, "a"), "1")
			v.put("b", "2")
			equal(v, "b", read(v, tx, "b"), "1")
			return nil
		})
		v.is(err, runner.ErrConflict)
	}},
	{name: "a value that changed and changed back passes", run: func(v *env) {
		v.put("k", "A")
		_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error {
			read(v, tx, "k")
			v.put("k", "B")
			v.put("k", "A")
			return tx.Put(b("k"), b("C"))
		})
		v.ok(err)
	}},
	{name: "nested: commit, abort, and what the child sees", run: func(v *env) {
		v.update(func(tx *runner.Tx) error {
			v.ok(tx.Put(b("x"), b("outer")))
			child, err := tx.Begin()
			v.ok(err)
			equal(v, "child sees", read(v, child, "x"), "outer")
			v.ok(child.Put(b("y"), b("child")))
			v.ok(child.Emit(b("intent")))
			_, err = tx.Get(b("x"))
			v.is(err, runner.ErrNesting)
			v.ok(child.Commit())
			v.is(child.Put(b("z"), b("late")), runner.ErrNesting)
			child, err = tx.Begin()
			v.ok(err)
			v.ok(child.Put(b("x"), b("inner")))
			v.ok(child.Put(b("z"), b("inner")))
			v.ok(child.Emit(b("never")))
			v.ok(child.Abort())
			equal(v, "x", read(v, tx, "x"), "outer")
			equal(v, "z", read(v, tx, "z"), "-")
			v.is(tx.Commit(), runner.ErrNesting)
			return nil
		})
		equal(v, "y", v.state("y"), "child")
		same(v, "outbox", v.outbox(), []string{"intent"})
	}},
	{name: "reads of an aborted child are validated", run: func(v *env) {
		v.put("guard", "open")
		_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error {
			child, err := tx.Begin()
			v.ok(err)
			read(v, child, "guard")
			v.ok(child.Abort())
			v.put("guard", "shut")
			return tx.Put(b("k"), b("decided by guard"))
		})
		v.is(err, runner.ErrConflict)
	}},
	{name: "ranges see own writes and are validated against phantoms", run: func(v *env) {
		for _, k := range []string{"p1", "p2", "p3", "q"} {
			v.put(k, k)
		}
		collect := func(tx *runner.Tx) string {
			out := ""
			v.ok(tx.Range(b("p"), b("q"),
				func(k, value []byte) bool { out += string(k) + "=" + string(value) + " "; return true }))
			return out
		}
		v.update(func(tx *runner.Tx) error {
			v.ok(tx.Delete(b("p2")))
			v.ok(tx.Put(b("p0"), b("new")))
			child, err := tx.Begin()
			v.ok(err)
			v.ok(child.Put(b("p3"), b("changed")))
			equal(v, "range", collect(child), "p0=new p1=p1 p3=changed ")
			return child.Abort()
		})
		for name, change := range map[string]func(){
			"phantom": func() { v.put("p15", "x") }, "change": func() { v.put("p1", "y") },
			"delete": func() { v.update(func(tx *runner.Tx) error { return tx.Delete(b("p3")) }) },
		} {
			_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error { collect(tx); change(); return nil })
			if !errors.Is(err, runner.ErrConflict) {
				v.Errorf("%s: got %v, want a conflict", name, err)
			}
		}
		_, err := v.r.Update(v.ctx, none, func(tx *runner.Tx) error { collect(tx); v.put("q", "outside"); return nil })
		v.ok(err)
		v.update(func(tx *runner.Tx) error {
			n := 0
			v.ok(tx.Range(nil, nil, func(k, _ []byte) bool { n++; return true }))
			equal(v, "our own keys are hidden", n, 4)
			return nil
		})
	}},
	{name: "keys and values are bounded and ours are reserved", run: func(v *env) {
		v.update(func(tx *runner.Tx) error {
			v.is(tx.Put(nil, b("x")), runner.ErrInvalid)
			v.is(tx.Put(b("runner.journal"), b("x")), runner.ErrInvalid)
			v.is(tx.Put(make([]byte, 4<<10+1), nil), runner.ErrTooLarge)
			v.is(tx.Put(b("k"), make([]byte, runner.MaxValue+1)), runner.ErrTooLarge)
			v.is(tx.Send(&runner.Message{To: 1 << 63}), runner.ErrInvalid)
			return nil
		})
	}},
	{name: "state, messages, outbox, timers and the acknowledgement are one commit", run: func(v *env) {
		v.post(7, "order")
		commits := v.r.Stats().Commits
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				v.ok(tx.Put(b("state"), b("paid")))
				v.ok(tx.Send(msg(8, "ship")))
				v.ok(tx.Emit(b("mail")))
				return tx.Arm(when(500), msg(7, "remind"))
			}})
		v.ok(err)
		v.tick(w, 1)
		equal(v, "commits", v.r.Stats().Commits-commits, 2) // claim, settle
		equal(v, "state", v.state("state"), "paid")
		same(v, "rows of 8", v.rows(8), []uint64{1})
		same(v, "outbox", v.outbox(), []string{"mail"})
		same(v, "timers", v.dues(), []int64{500})
		same(v, "rows of 7", v.rows(7), nil)
	}},
	{name: "a failing handler leaves nothing behind", run: func(v *env) {
		v.post(7, "order")
		w, err := v.r.NewWorker(7, runner.WorkerOptions{MaxBatch: 1,
			Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				v.ok(tx.Put(b("state"), b("paid")))
				v.ok(tx.Send(msg(8, "ship")))
				return errBusy
			}})
		v.ok(err)
		v.tick(w, 0)
		equal(v, "state", v.state("state"), "-")
		same(v, "rows of 8", v.rows(8), nil)
	}},
	{name: "messages of one batch see each other's writes", run: func(v *env) {
		v.number(7, 100)
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				n := 0
				fmt.Sscan(read(v, tx, "n"), &n)
				return tx.Put(b("n"), fmt.Append(nil, n+1))
			}})
		v.ok(err)
		v.tick(w, 100)
		equal(v, "n", v.state("n"), "100")
		equal(v, "conflicts", w.Metrics().Conflicts, 0)
	}},
	{name: "a conflict with somebody else runs the message again", run: func(v *env) {
		v.put("n", "0")
		v.number(7, 3)
		calls := 0
		w, err := v.r.NewWorker(7,
			runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				n := 0
				fmt.Sscan(read(v, tx, "n"), &n)
				if calls++; calls == 2 {
					v.put("n", "1000")
				}
				return tx.Put(b("n"), fmt.Append(nil, n+1))
			}})
		v.ok(err)
		v.tick(w, 3)
		equal(v, "n", v.state("n"), "1003")
		equal(v, "calls", calls, 6)
		equal(v, "conflicts", w.Metrics().Conflicts, 3)
	}},
	{name: "endless conflicts end in the budget", run: func(v *env) {
		v.post(7, "a")
		n := 0
		w, err := v.r.NewWorker(7, runner.WorkerOptions{MaxBatch: 100,
			Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
				read(v, tx, "n")
				n++
				v.put("n", fmt.Sprint(n))
				return nil
			}})
		v.ok(err)
		v.tick(w, 0)
		equal(v, "dead letters", len(v.dead()), 1)
		equal(v, "cause", v.dead()[0].Cause, runner.CauseBudget)
	}},
}
