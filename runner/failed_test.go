package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// TestNothingRunsAfterAFailure: when a commit has failed, the contexts of running handlers end at
// once and no handler starts, for nothing would count. After Reopen the worker goes on.
func TestNothingRunsAfterAFailure(t *testing.T) {
	for _, kind := range []string{"plain", "lanes", "batch", "ordered", "ordered lanes"} {
		t.Run(kind, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testAfterFailure(t, kind) }) })
	}
}

func testAfterFailure(t *testing.T, kind string) {
	const messages = 200
	storage := runnertest.NewFaulty(memstore.New())
	r, err := runner.Open(storage, runner.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	var begun, running atomic.Int64
	var fails, reopened atomic.Bool
	run := func(ctx context.Context) error {
		begun.Add(1)
		running.Add(1)
		defer running.Add(-1)
		if begun.Load() > 20 && !reopened.Load() {
			// The storage fails under the next commit, while this handler works for long.
			if !fails.Swap(true) {
				storage.FailAfter(0, errors.New("the disk is gone"))
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Hour):
			}
		}
		time.Sleep(time.Millisecond)
		return nil
	}
	o := runner.WorkerOptions{Ordered: strings.HasPrefix(kind, "ordered"), MaxBatch: 4}
	o.Handler = func(ctx context.Context, _ *runner.Tx, _ *runner.Delivery) error { return run(ctx) }
	if kind == "batch" {
		o.Handler, o.Batch = nil, func(ctx context.Context, _ *runner.Batched) error { return run(ctx) }
	}
	if strings.HasSuffix(kind, "lanes") {
		o.Concurrency = 4
	}
	w, err := r.NewWorker(7, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for r.Err() == nil {
		time.Sleep(time.Millisecond)
		_, _ = r.Post(t.Context(), &runner.Message{To: 8, ID: []byte("one of them fails")})
	}
	time.Sleep(10 * time.Millisecond) // those that run end; they may not look at their contexts
	synctest.Wait()
	if n := running.Load(); n != 0 {
		t.Errorf("%d handlers still run", n)
	}
	before := begun.Load()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if n := begun.Load() - before; n != 0 {
		t.Errorf("%d handlers were started after the failure", n)
	}
	reopened.Store(true)
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	for r.Stats().Inboxes[0].Depth > 0 {
		time.Sleep(time.Second)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
