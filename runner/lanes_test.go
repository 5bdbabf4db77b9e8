package runner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
)

// TestConcurrency: a worker runs as many messages at once as configured, a slow one delays no
// other, and the worker's counts include all.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		var running, most, done atomic.Int32
		w, err := r.NewWorker(7, runner.WorkerOptions{Concurrency: 4,
			Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
				now := running.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				if string(d.ID) == "0" {
					time.Sleep(time.Hour)
				} else {
					time.Sleep(time.Second)
				}
				running.Add(-1)
				done.Add(1)
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		postAll(t, r, 31, true)
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for done.Load() < 30 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begin); took > 13*time.Second {
			t.Errorf("30 messages of a second took three lanes %v", took)
		}
		if most.Load() != 4 {
			t.Errorf("%d ran at once, want 4", most.Load())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if m := w.Metrics(); m.Successes != 31 || w.Steps() != 31 {
			t.Errorf("it counts %d successes and %d steps", m.Successes, w.Steps())
		}
		w.Stop()
		if err := w.Join(); err != nil {
			t.Error(err)
		}
		noneDead(t, r)
	})
}

// TestErrorStopsAllLanes: with StopOnError one failure ends the whole worker, which
// may be started again.
func TestErrorStopsAllLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		bad := errors.New("bad")
		var fixed atomic.Bool
		w, err := r.NewWorker(7, runner.WorkerOptions{
			Concurrency: 3, Policy: &runner.Policy{StopOnError: true, RetryDelay: -1},
			Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
				if !fixed.Load() {
					return bad
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		postAll(t, r, 1, true)
		if err := w.Join(); !errors.Is(err, bad) {
			t.Fatalf("it ended with %v", err)
		}
		fixed.Store(true)
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.Steps() != 1 {
			t.Errorf("%d steps after the second start", w.Steps())
		}
		if err := w.Remove(); err != nil {
			t.Error(err)
		}
	})
}
