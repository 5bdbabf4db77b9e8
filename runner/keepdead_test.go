package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
)

// TestKeepDead: dead letters are dropped when they are older than KeepDead, which is never by default.
func TestKeepDead(t *testing.T) {
	for _, c := range []struct {
		name  string
		keep  time.Duration
		after time.Duration
		want  uint64
	}{
		{"by default", 0, 50 * time.Hour, 1},
		{"not old yet", 48 * time.Hour, 47 * time.Hour, 1},
		{"old", 48 * time.Hour, 50 * time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := open(t, runner.Options{KeepDead: c.keep, Policy: runner.Policy{LeaseTTL: time.Hour}})
				w, err := r.NewWorker(7, runner.WorkerOptions{MaxIdle: 10 * time.Minute,
					Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
						return runner.Discard(errors.New("no"))
					}})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Post(t.Context(), &runner.Message{To: 7}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.after)
				synctest.Wait()
				if n := r.Stats().DeadLetters; n != c.want {
					t.Errorf("%d dead letters, want %d", n, c.want)
				}
				if err := w.Remove(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
