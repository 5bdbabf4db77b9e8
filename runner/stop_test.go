package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestStopsSpendNoBudget: a worker that is stopped lets its handler finish for its grace
// period and then ends its context; however often that happens to a message, and by whichever
// call, no budget is spent.
func TestStopsSpendNoBudget(t *testing.T) {
	const grace = 5 * time.Second
	for _, kind := range []string{"plain", "batch", "ordered", "ordered batch", "lanes", "lanes batch",
		"ordered lanes"} {
		for _, how := range []string{"Stop", "parent", "Close"} {
			t.Run(kind+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					storage := memstore.New()
					var mu sync.Mutex
					var attempts []uint32
					atOnce := 1
					takes := time.Hour
					run := func(ctx context.Context, n uint32) error {
						mu.Lock()
						attempts = append(attempts, n)
						mu.Unlock()
						select {
						case <-time.After(takes):
							return nil
						case <-ctx.Done():
							return fmt.Errorf("in the middle: %w", ctx.Err())
						}
					}
					o := runner.WorkerOptions{Grace: grace, Ordered: kind[0] == 'o'}
					o.Handler = func(ctx context.Context, _ *runner.Tx,
						d *runner.Delivery) error {
						return run(ctx, d.Attempts)
					}
					if strings.Contains(kind, "lanes") {
						o.Concurrency, atOnce = 3, 3
					}
					if kind == "lanes batch" {
						o.MaxBatch = 1
					}
					if strings.Contains(kind, "batch") {
						o.Handler, o.Batch = nil, func(ctx context.Context,
							b *runner.Batched) error {
							return run(ctx, b.Deliveries[0].Attempts)
						}
					}
					// deploy starts a process, stops it while the handler runs, and requires
					// that to take so long.
					deploy := func(want time.Duration) {
						t.Helper()
						r, err := runner.Open(storage, runner.Options{Create: true, MinFree: -1})
						if err != nil {
							t.Fatal(err)
						}
						defer func() {
							if err := r.Close(); err != nil {
								t.Error(err)
							}
							time.Sleep(2 * time.Second)
						}()
						noneDead(t, r)
						if len(attempts) == 0 {
							postAll(t, r, 3, true)
						}
						w, err := r.NewWorker(7, o)
						if err != nil {
							t.Fatal(err)
						}
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if err := w.Start(ctx); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Second)
						begin := time.Now()
						switch how {
						case "Stop":
							w.Stop()
						case "parent":
							cancel()
						case "Close":
							if err := r.Close(); err != nil {
								t.Error(err)
							}
						}
						if err := w.Join(); err != nil && !errors.Is(err, runner.ErrStopped) {
							t.Error(err)
						}
						if got := time.Since(begin); got != want {
							t.Errorf("it stopped after %v, want %v", got, want)
						}
					}
					for range 6 {
						deploy(grace)
					}
					takes = 3 * time.Second
					deploy(2 * time.Second)
					for i, n := range attempts {
						if n != 1 {
							t.Errorf("delivery %d has %d attempts", i, n)
						}
					}
					if len(attempts) != 7*atOnce {
						t.Errorf("the handler ran %d times, want %d", len(attempts), 7*atOnce)
					}
				})
			})
		}
	}
}
