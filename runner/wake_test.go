package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestTimersWake: a message for later comes when it is due, whoever has armed it, though all
// workers sleep for long.
func TestTimersWake(t *testing.T) {
	ctx := context.Background()
	send := func(m *runner.Message) func(tx *runner.Tx) error {
		return func(tx *runner.Tx) error { return tx.Send(m) }
	}
	for name, arm := range map[string]func(r *runner.Runner, due time.Time, m *runner.Message) error{
		"Arm": func(r *runner.Runner, due time.Time, m *runner.Message) error {
			_, err := r.Arm(ctx, due, m)
			return err
		},
		"Update with Arm": func(r *runner.Runner, due time.Time, m *runner.Message) error {
			_, err := r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error { return tx.Arm(due, m) })
			return err
		},
		"Update with Send": func(r *runner.Runner, due time.Time, m *runner.Message) error {
			m.At = due
			_, err := r.Update(ctx, runner.AttemptPolicy{}, send(m))
			return err
		},
		"a handler of another queue": func(r *runner.Runner, due time.Time, m *runner.Message) error {
			w, err := r.NewWorker(8, runner.WorkerOptions{MaxIdle: time.Hour, Handler: func(_ context.Context, tx *runner.Tx, _ *runner.Delivery) error {
				return tx.Arm(due, m)
			}})
			if err != nil {
				return err
			}
			if _, err := r.Post(ctx, &runner.Message{To: 8, ID: []byte("arm")}); err != nil {
				return err
			}
			_, err = w.Tick(ctx) // and is not called again
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := runner.Open(memstore.New(), runner.Options{Create: true})
				if err != nil {
					t.Fatal(err)
				}
				var came atomic.Int64
				w, err := r.NewWorker(7, runner.WorkerOptions{MaxIdle: 10 * time.Second, Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
					came.Store(time.Now().UnixNano())
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Start(ctx); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				due := time.Now().Add(500 * time.Millisecond)
				if err := arm(r, due, &runner.Message{To: 7, ID: []byte("m")}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if late := time.Unix(0, came.Load()).Sub(due); late < 0 || late > 100*time.Millisecond {
					t.Errorf("it came %v after it was due", late)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
