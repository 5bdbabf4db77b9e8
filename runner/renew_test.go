package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/runnertest"
)

// TestLateRenew: a handler that renews after it has returned gets an error, and prolongs no
// other lease. One that Step runs has no lease to renew.
func TestLateRenew(t *testing.T) {
	clock := runnertest.NewClock(100)
	r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep})
	var late []func(context.Context) error
	held := func() int64 {
		rows, err := r.Inbox(7, 0, 10)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		return rows[len(rows)-1].Lease.Deadline.UnixMilli()
	}
	check := func() {
		t.Helper()
		for i, renew := range late {
			if err := renew(t.Context()); !errors.Is(err, runner.ErrLeaseLost) {
				t.Errorf("late renewal %d: got %v, want ErrLeaseLost", i, err)
			}
		}
	}
	plain := func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
		clock.Advance(100 * time.Millisecond)
		before := held()
		check()
		if after := held(); after != before {
			t.Errorf("a late renewal moved the deadline of another row from %d to %d", before, after)
		}
		late = append(late, d.Renew)
		return nil
	}
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: plain})
	if err != nil {
		t.Fatal(err)
	}
	postAll(t, r, 3, true)
	if n, err := w.Tick(t.Context()); n != 3 || err != nil {
		t.Fatalf("completed %d, %v", n, err)
	}
	check()
	late = nil
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	w, err = r.NewWorker(7, runner.WorkerOptions{MaxBytes: 1, Batch: func(_ context.Context, b *runner.Batched) error {
		check()
		late = append(late, b.Renew, b.Deliveries[0].Renew)
		return b.Renew(t.Context())
	}})
	if err != nil {
		t.Fatal(err)
	}
	postAll(t, r, 1, true)
	if n, err := w.Tick(t.Context()); n != 1 || err != nil {
		t.Fatalf("completed %d, %v", n, err)
	}
	check()
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}

	w, err = r.NewWorker(7, runner.WorkerOptions{Handler: func(ctx context.Context, _ *runner.Tx,
		d *runner.Delivery) error {
		return d.Renew(ctx)
	}})
	if err != nil {
		t.Fatal(err)
	}
	frame, err := (&runner.Message{To: 7, ID: []byte("a")}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Step(t.Context(), frame); err != nil {
		t.Errorf("Renew inside Step: %v", err)
	}
	if s := r.State(); s != runner.Running {
		t.Errorf("the runner is %v: %v", s, r.Err())
	}
}
