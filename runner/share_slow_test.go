package runner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
)

// TestSlowHandlerHoldsUpNobody: the lanes are used to short messages, so that one claims all that
// are posted. If some handlers then take long, other lanes run what was claimed behind them, and
// every message runs once.
func TestSlowHandlerHoldsUpNobody(t *testing.T) {
	const messages = 200
	for _, c := range []struct {
		name     string
		together bool
		workers  runner.WorkerOptions
		number   int
		slow     []int
	}{
		{"the first of a bundle", true, runner.WorkerOptions{Concurrency: 4}, 1, []int{0}},
		{"the last of a bundle", true, runner.WorkerOptions{Concurrency: 4}, 1, []int{63}},
		{"in the middle", true, runner.WorkerOptions{Concurrency: 4}, 1, []int{100}},
		{"rows of their own", false, runner.WorkerOptions{Concurrency: 4}, 1, []int{7}},
		{"all lanes but one", true, runner.WorkerOptions{Concurrency: 16}, 1,
			[]int{0, 1, 2, 3, 20, 40, 63, 64, 65, 66, 67, 150, 151, 198, 199}},
		{"workers without lanes", true, runner.WorkerOptions{}, 3, []int{5, 120}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := open(t, runner.Options{})
				var mu sync.Mutex
				runs, slow := map[string]int{}, map[string]bool{}
				end := make(chan struct{})
				o := c.workers
				o.Handler = func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
					mu.Lock()
					runs[string(d.ID)]++
					wait := slow[string(d.ID)]
					mu.Unlock()
					if d.Attempts != 1 {
						t.Errorf("message %s is delivered for the %dth time", d.ID, d.Attempts)
					}
					if wait {
						<-end
					}
					return nil
				}
				all := start(t, r, c.number, o)
				postAll(t, r, messages, true)
				synctest.Wait()
				if len(runs) != messages {
					t.Fatalf("%d of the short messages ran", len(runs))
				}
				clear(runs)
				for _, i := range c.slow {
					slow[fmt.Sprint(i)] = true
				}
				// While the workers pause, so that one of them claims everything.
				for _, w := range all {
					w.Stop()
					_ = w.Join()
				}
				postAll(t, r, messages, c.together)
				for _, w := range all {
					if err := w.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
				synctest.Wait()
				mu.Lock()
				if len(runs) != messages {
					t.Errorf("%d of %d messages ran beside %d slow ones", len(runs), messages, len(c.slow))
				}
				mu.Unlock()
				close(end)
				time.Sleep(10 * time.Second)
				for id, n := range runs {
					if n != 1 {
						t.Errorf("message %s ran %d times", id, n)
					}
				}
				if depth := r.Stats().Inboxes[0].Depth; depth != 0 {
					t.Errorf("%d messages are left", depth)
				}
				for i, w := range all {
					if m := w.Metrics(); m.LeasesLost+m.Expired > 0 {
						t.Errorf("worker %d: %+v", i, m)
					}
				}
				noneDead(t, r)
			})
		})
	}
}
