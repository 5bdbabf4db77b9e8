package runner_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestHandlerExits: a handler that calls runtime.Goexit, as t.Fatal does, has failed. The worker
// goes on with all its lanes, and the runner can be closed.
func TestHandlerExits(t *testing.T) {
	for _, kind := range []string{"plain", "lanes", "batch", "ordered", "ordered lanes", "ordered batch"} {
		t.Run(kind, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testExits(t, kind) }) })
	}
}

func testExits(t *testing.T, kind string) {
	const messages = 20
	var logged atomic.Int64
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, Sinks: runner.Sinks{Log: func(ev runner.LogEvent) {
		if ev.Err != nil && strings.Contains(ev.Err.Error(), "Goexit") {
			logged.Add(1)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(tx *runner.Tx, attempts uint32) error {
		if _, err := tx.Get([]byte("absent")); err == nil {
			return fmt.Errorf("found what is absent")
		}
		if attempts == 1 {
			runtime.Goexit()
		}
		return nil
	}
	o := runner.WorkerOptions{Ordered: strings.HasPrefix(kind, "ordered"), MaxBatch: 3}
	o.Handler = func(_ context.Context, tx *runner.Tx, d *runner.Delivery) error { return run(tx, d.Attempts) }
	if strings.HasSuffix(kind, "batch") {
		o.Handler, o.Batch = nil, func(_ context.Context, b *runner.Batched) error { return run(b.Tx, b.Deliveries[0].Attempts) }
	}
	if strings.HasSuffix(kind, "lanes") {
		o.Concurrency = 3
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
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	for range 1000 {
		if r.Stats().Inboxes[0].Depth == 0 {
			break
		}
		time.Sleep(time.Second)
	}
	s := r.Stats()
	if s.Inboxes[0].Depth != 0 || s.DeadLetters != 0 {
		t.Errorf("%d messages are left, %d are dead", s.Inboxes[0].Depth, s.DeadLetters)
	}
	if m := w.Metrics(); m.NonRetryable == 0 || logged.Load() == 0 {
		t.Errorf("%d attempts failed, %d were logged", m.NonRetryable, logged.Load())
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestUpdateExits: what a transaction reads is released if its function ends the goroutine.
func TestUpdateExits(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func(){
		func() {
			_, _ = r.Update(context.Background(), runner.AttemptPolicy{}, func(*runner.Tx) error { runtime.Goexit(); return nil })
		},
		func() {
			_ = r.View(func(func([]byte) ([]byte, error)) error { runtime.Goexit(); return nil })
		},
	} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f()
		}()
		<-ended
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
