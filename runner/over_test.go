package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestTxIsOver: a transaction that a handler has kept does nothing after the handler has
// returned, and nothing of it comes into the transaction of another message.
func TestTxIsOver(t *testing.T) {
	for _, kind := range []string{"plain", "batch", "ordered"} {
		r, err := runner.Open(memstore.New(), runner.Options{Create: true, Policy: runner.Policy{RetryDelay: -1}})
		if err != nil {
			t.Fatal(err)
		}
		var kept []*runner.Tx
		over := func(what string) {
			t.Helper()
			for i, tx := range kept {
				if err := tx.Put([]byte("late"), fmt.Append(nil, i)); !errors.Is(err, runner.ErrOver) {
					t.Errorf("%s: %s: transaction %d: got %v, want %v", kind, what, i, err, runner.ErrOver)
				}
				if _, err := tx.Get([]byte("late")); !errors.Is(err, runner.ErrOver) {
					t.Errorf("%s: %s: transaction %d: a read: got %v, want %v", kind, what, i, err, runner.ErrOver)
				}
			}
		}
		runs := 0
		run := func(tx *runner.Tx) error {
			over("in another handler")
			child, err := tx.Begin()
			if err != nil {
				return err
			}
			if err := errors.Join(child.Put([]byte("own"), []byte("x")), child.Commit()); err != nil {
				return err
			}
			kept = append(kept, tx)
			if runs++; runs == 3 {
				return errors.New("once more")
			}
			return nil
		}
		o := runner.WorkerOptions{Ordered: kind == "ordered", MaxBatch: 4}
		o.Handler = func(_ context.Context, tx *runner.Tx, _ *runner.Delivery) error { return run(tx) }
		if kind == "batch" {
			o.Handler, o.Batch = nil, func(_ context.Context, b *runner.Batched) error { return run(b.Tx) }
		}
		w, err := r.NewWorker(7, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: fmt.Append(nil, i)}); err != nil {
				t.Fatal(err)
			}
		}
		for r.Stats().Inboxes[0].Depth > 0 {
			if _, err := w.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		over("at the end")
		if _, err := r.Update(t.Context(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			_, err := tx.Get([]byte("late"))
			kept = append(kept, tx)
			if !errors.Is(err, runner.ErrNotFound) {
				return fmt.Errorf("something was written late: %w", err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		over("after Update")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepSharesACommit: expired ids are deleted in a commit that a busy worker makes anyway, so
// that its messages do not wait for one more.
func TestSweepSharesACommit(t *testing.T) {
	var now atomic.Int64
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	commits := func(flags runner.Flags) uint64 {
		t.Helper()
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m"), Flags: flags}); err != nil {
			t.Fatal(err)
		}
		before := r.Stats().Commits
		if n, err := w.Tick(t.Context()); n != 1 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		return r.Stats().Commits - before
	}
	commits(runner.Dedupe)
	usual := commits(0)
	now.Add(100_000)
	if got := commits(0); got != usual {
		t.Errorf("a message took %d commits while ids expired, usually %d", got, usual)
	}
}
