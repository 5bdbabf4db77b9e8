package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/internal/mailbox"
	"wamble/runner/runnertest"
)

// TestClaimedInsideBundle: another claimant takes one message of a bundle that the worker has
// not claimed yet, and drops it. The worker gets every message once: not a second time from
// its cache of the bundle.
func TestClaimedInsideBundle(t *testing.T) {
	const n = 12
	for _, ordered := range []bool{false, true} {
		for size := 1; size <= n+1; size++ {
			for row := uint64(1); row <= n; row++ {
				clock := runnertest.NewClock(1000)
				r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep})
				runs := map[string]int{}
				w, err := r.NewWorker(7, runner.WorkerOptions{Ordered: ordered, MaxBatch: size,
					Batch: func(_ context.Context, b *runner.Batched) error {
						for i := range b.Deliveries {
							runs[string(b.Deliveries[i].ID)]++
						}
						return nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				postAll(t, r, 1, true) // the worker keeps up with its inbox
				tick(t, w)
				clear(runs)
				postAll(t, r, n, true)
				if err := mailbox.Claim(t.Context(), r, 7, 1+row, clock.Now()); err != nil {
					t.Fatal(err)
				}
				clock.Advance(time.Minute)
				for range n + 1 {
					tick(t, w)
				}
				for i := range n {
					if got := runs[fmt.Sprint(i)]; got != 1 {
						t.Fatalf("ordered %t, batches of %d, row %d claimed: message %d ran %d times", ordered, size,
							row, i, got)
					}
				}
				if got := w.Metrics().Successes; got != n+1 {
					t.Fatalf("ordered %t, batches of %d, row %d claimed: %d messages are done", ordered, size, row, got)
				}
			}
		}
	}
}
