package runner_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// within fails the test when f hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<16)
		t.Fatalf("%s hangs:\n%s", what, buf[:runtime.Stack(buf, true)])
	}
}

// TestCallsWhileReopening: the context of a handler ends when its runner is reopened; the
// handler may call the runner, and is answered; its message is delivered again.
func TestCallsWhileReopening(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	started, again := make(chan struct{}), make(chan struct{})
	runs := 0
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(ctx context.Context, tx *runner.Tx,
		d *runner.Delivery) error {
		if runs++; runs > 1 {
			if ctx.Err() != nil {
				t.Errorf("it runs again with %v", ctx.Err())
			}
			close(again)
			return nil
		}
		close(started)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), runner.ErrStopped) {
			t.Errorf("its context ended because of %v", context.Cause(ctx))
		}
		for r.State() != runner.Stopped {
			runtime.Gosched()
		}
		r.Stats()
		w := 0
		for name, call := range map[string]func() error{
			"View":  func() error { return r.View(func(func([]byte) ([]byte, error)) error { w++; return nil }) },
			"Inbox": func() error { _, err := r.Inbox(7, 0, 1); return err },
			"Update": func() error {
				_, err := r.Update(ctx, runner.AttemptPolicy{}, func(*runner.Tx) error { return nil })
				return err
			},
			"Renew": func() error { return d.Renew(ctx) },
		} {
			if err := call(); !errors.Is(err, runner.ErrStopped) {
				t.Errorf("%s: got %v, want ErrStopped", name, err)
			}
		}
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	postAll(t, r, 1, false)
	<-started
	within(t, "Reopen", func() {
		if err := r.Reopen(); err != nil {
			t.Error(err)
		}
		<-again
	})
	within(t, "Close", func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStatsWhileClosing: a reader of a snapshot may ask the runner for its state while
// another goroutine closes it.
func TestStatsWhileClosing(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	within(t, "Stats", func() {
		err := r.View(func(get func([]byte) ([]byte, error)) error {
			go func() { closed <- r.Close() }()
			for r.Stats().State != runner.Stopped {
				runtime.Gosched()
			}
			// The snapshot is valid until its reader is done.
			if _, err := get([]byte("k")); !errors.Is(err, runner.ErrNotFound) {
				t.Errorf("read %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestIdleSleepInHandler: a handler may ask how long its worker would sleep.
func TestIdleSleepInHandler(t *testing.T) {
	r := open(t, runner.Options{})
	var w *runner.Worker
	w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
		w.IdleSleep()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	postAll(t, r, 1, false)
	within(t, "Tick", func() {
		if n, err := w.Tick(t.Context()); n != 1 || err != nil {
			t.Errorf("completed %d, %v", n, err)
		}
	})
}
