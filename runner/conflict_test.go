package runner_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
)

// TestBatchConflictsForEver: a batch handler with a conflict in every run spends the budget
// of its messages, as any failure does, and then they are dead letters.
func TestBatchConflictsForEver(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint(ordered), func(t *testing.T) {
			r := open(t, runner.Options{Policy: runner.Policy{RetryDelay: -1}})
			runs := 0
			w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: ordered,
				Batch: func(_ context.Context, b *runner.Batched) error {
					runs++
					get(b.Tx, "other")
					put(t, r, "other", fmt.Sprint(runs))
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			postAll(t, r, 3, true)
			for range 20 {
				tick(t, w)
			}
			s := r.Stats()
			if s.DeadLetters != 3 || s.Inboxes[0].Depth != 0 {
				t.Errorf("%d dead letters and %d messages left after %d runs, want 3 and none", s.DeadLetters,
					s.Inboxes[0].Depth, runs)
			}
			if m := w.Metrics(); m.DeadLetters != 3 || m.Successes != 0 {
				t.Errorf("got %+v", m)
			}
		})
	}
}

// TestHandlerTimeout: the context of a handler ends after its worker's Timeout, which is
// reported at once and spends budget; the next run has a context of its own.
func TestHandlerTimeout(t *testing.T) {
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				overdue := make(chan time.Duration, 10)
				began := time.Now()
				r := open(t, runner.Options{Sinks: runner.Sinks{Log: func(ev runner.LogEvent) {
					if ev.Kind == runner.LogOverdue {
						if ev.ID != "0" || ev.Attempt != 1 {
							t.Errorf("told %+v, want the message 0 and its first attempt", ev)
						}
						overdue <- time.Since(began)
					}
				}}})
				runs := 0
				run := func(ctx context.Context) error {
					if runs++; runs > 1 {
						return ctx.Err()
					}
					<-ctx.Done()
					time.Sleep(time.Minute) // it goes on; no other worker gets its row
					return ctx.Err()
				}
				o := runner.WorkerOptions{Timeout: 10 * time.Second}
				if batch {
					o.Batch = func(ctx context.Context, _ *runner.Batched) error { return run(ctx) }
				} else {
					o.Handler = func(ctx context.Context, _ *runner.Tx, _ *runner.Delivery) error { return run(ctx) }
				}
				workers := start(t, r, 2, o)
				postAll(t, r, 1, false)
				if at := <-overdue; at != 10*time.Second {
					t.Errorf("told after %v, want 10 s", at)
				}
				time.Sleep(2 * time.Minute)
				var m runner.Metrics
				for _, w := range workers {
					m.Attempts += w.Metrics().Attempts
					m.Successes += w.Metrics().Successes
					m.NonRetryable += w.Metrics().NonRetryable
				}
				if runs != 2 || m.Attempts != 2 || m.Successes != 1 || m.NonRetryable != 1 || len(overdue) != 0 {
					t.Errorf("%d runs, %d more told, %+v; want a failure and a success", runs, len(overdue), m)
				}
				noneDead(t, r)
			})
		})
	}
}

// TestDedupeAtTheSameTime: two workers run two messages with one id concurrently. The effects
// of one are committed, the other is counted as a duplicate.
func TestDedupeAtTheSameTime(t *testing.T) {
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := open(t, runner.Options{})
				run := func(tx *runner.Tx) error {
					time.Sleep(time.Second) // both are here then
					return tx.Emit([]byte("effect"))
				}
				o := runner.WorkerOptions{MaxBatch: 1}
				if batch {
					o.Batch = func(_ context.Context, b *runner.Batched) error { return run(b.Tx) }
				} else {
					o.Handler = func(_ context.Context, tx *runner.Tx, _ *runner.Delivery) error { return run(tx) }
				}
				workers := start(t, r, 2, o)
				for range 2 {
					if _, err := r.Post(t.Context(),
						&runner.Message{To: 7, ID: []byte("id"), Flags: runner.Dedupe}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				a, b := workers[0].Metrics(), workers[1].Metrics()
				if n := r.Stats().Outbox; n != 1 || a.Attempts+b.Attempts != 2 || a.Successes+b.Successes != 1 ||
					a.Duplicates+b.Duplicates != 1 {
					t.Errorf("%d effects, %+v and %+v", n, a, b)
				}
			})
		})
	}
}
