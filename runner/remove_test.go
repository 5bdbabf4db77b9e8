package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestRemoveGivesBack: a worker that replaces another gets at once what that had claimed.
func TestRemoveGivesBack(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 3 {
		if _, err := r.Post(t.Context(),
			&runner.Message{Kind: runner.Command, To: 7, ID: []byte{1}, Payload: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	worker := func(answer error) *runner.Worker {
		w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true, Policy: &runner.Policy{LeaseTTL: time.Hour},
			Batch: func(_ context.Context, b *runner.Batched) error {
				seen = len(b.Deliveries)
				return answer
			}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w
	}
	for _, answer := range []error{runner.Retry(errors.New("the store is away"), time.Hour), nil} {
		seen = 0
		w := worker(answer)
		if seen != 3 {
			t.Errorf("the worker got %d messages, want 3", seen)
		}
		if err := w.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseGivesBack: messages that were claimed when the runner was closed do not count as
// killers of the process, however often that happens: they come again as a batch, not one by
// one.
func TestCloseGivesBack(t *testing.T) {
	storage := memstore.New()
	for life := range 5 {
		r, err := runner.Open(storage, runner.Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; life == 0 && i < 3; i++ {
			if _, err := r.Post(t.Context(),
				&runner.Message{Kind: runner.Command, To: 7, ID: []byte{1}, Payload: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		seen := 0
		w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: true,
			Batch: func(_ context.Context, b *runner.Batched) error {
				seen = len(b.Deliveries)
				return runner.Retry(errors.New("the process is to end"), 0)
			}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen != 3 {
			t.Errorf("life %d: the worker got %d messages, want 3", life, seen)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
