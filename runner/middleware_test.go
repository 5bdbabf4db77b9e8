package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"wamble/runner"
)

// TestMiddlewareWrapsHandlers: the runner's middleware wraps the worker's, and the first of a
// list wraps the second.
func TestMiddlewareWrapsHandlers(t *testing.T) {
	var said []string
	layer := func(name string) runner.Middleware {
		return func(next runner.Handler) runner.Handler {
			return func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
				said = append(said, name)
				return next(ctx, tx, d)
			}
		}
	}
	r := open(t, runner.Options{Middleware: []runner.Middleware{layer("a"), layer("b")}})
	w, err := r.NewWorker(7, runner.WorkerOptions{
		Middleware: []runner.Middleware{layer("c"), layer("d")},
		Handler: func(context.Context, *runner.Tx,
			*runner.Delivery) error {
			said = append(said, "handler")
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	postAll(t, r, 1, true)
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c", "d", "handler"}; !slices.Equal(said, want) {
		t.Errorf("it ran as %q, want %q", said, want)
	}
}

// TestLogEventsNameTheMessage: every event of a message carries its id, from the
// first failure to the dead letter, and the number of the delivery.
func TestLogEventsNameTheMessage(t *testing.T) {
	type event struct {
		kind    runner.LogKind
		id      string
		attempt uint32
	}
	var got []event
	r := open(t, runner.Options{
		Policy: runner.Policy{RetryBudget: 2, RetryDelay: -1},
		Sinks:  runner.Sinks{Log: func(ev runner.LogEvent) { got = append(got, event{ev.Kind, ev.ID, ev.Attempt}) }},
	})
	w, err := r.NewWorker(7, runner.WorkerOptions{
		Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return errors.New("no") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("order 9")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []event{
		{runner.LogNonRetryable, "order 9", 1}, {runner.LogRequeued, "order 9", 1},
		{runner.LogNonRetryable, "order 9", 2}, {runner.LogDeadLetter, "order 9", 2},
	}
	if !slices.Equal(got, want) {
		t.Errorf("logged %v, want %v", got, want)
	}
}
