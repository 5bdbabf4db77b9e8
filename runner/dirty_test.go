package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"wamble/runner"
)

func tick(t *testing.T, w *runner.Worker) {
	t.Helper()
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, r *runner.Runner, key, value string) {
	t.Helper()
	if _, err := r.Update(t.Context(), runner.AttemptPolicy{},
		func(tx *runner.Tx) error { return tx.Put([]byte(key), []byte(value)) }); err != nil {
		t.Error(err)
	}
}

func get(tx *runner.Tx, key string) string {
	value, _ := tx.Get([]byte(key))
	return string(value)
}

// TestFailureOfRefusedState: a message that was discarded because of an earlier message's
// write is run again when that write is refused. Otherwise a message would be buried for a
// state that was never committed.
func TestFailureOfRefusedState(t *testing.T) {
	for _, attempts := range []int{1, 4} { // at settling
		for _, nested := range []bool{false, true} {
			t.Run(fmt.Sprint(attempts, nested), func(t *testing.T) {
				r := open(t, runner.Options{Policy: runner.Policy{RequeueAttempts: attempts, RetryDelay: -1}})
				first := true
				w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(_ context.Context, tx *runner.Tx,
					d *runner.Delivery) error {
					if string(d.ID) == "0" && first {
						first = false
						get(tx, "other")
						put(t, r, "other", "changed") // so that this run is refused
						return tx.Put([]byte("closed"), []byte("yes"))
					}
					if nested {
						child, err := tx.Begin()
						if err != nil {
							return err
						}
						tx = child
					}
					if get(tx, "closed") != "" {
						return runner.Discard(errors.New("it is closed"))
					}
					if nested {
						return tx.Commit()
					}
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				postAll(t, r, 2, true)
				tick(t, w)
				noneDead(t, r)
				if n := w.Metrics().Successes; n != 2 {
					t.Errorf("%d of 2 messages are done", n)
				}
			})
		}
	}
}

// TestOrderedConflictThenSuccess: a message behind one with a conflict failed, and succeeds
// when both run again. It is done then, and not run once more.
func TestOrderedConflictThenSuccess(t *testing.T) {
	r := open(t, runner.Options{Policy: runner.Policy{RetryDelay: -1}})
	runs := map[string]int{}
	w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true,
		Handler: func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error {
			runs[string(d.ID)]++
			get(tx, "other")
			switch {
			case runs[string(d.ID)] > 1:
			case string(d.ID) == "0":
				put(t, r, "other", "changed") // so that this run is refused
			default:
				return errors.New("not at first")
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	postAll(t, r, 2, true)
	tick(t, w)
	tick(t, w)
	if runs["0"] != 2 || runs["1"] != 2 {
		t.Errorf("got runs %v, want 2 of each", runs)
	}
	if m := w.Metrics(); m.Successes != 2 || m.LeasesLost != 0 {
		t.Errorf("got %+v, want two successes and no lost lease", m)
	}
}
