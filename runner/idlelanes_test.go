package runner_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
)

// TestLanesAreWokenForWork: of many idle lanes a message wakes one, and many messages wake as many
// as there are, at once.
func TestLanesAreWokenForWork(t *testing.T) {
	for _, c := range []struct {
		name              string
		lanes, messages   int
		running, mostWoke int64
	}{
		{"one message", 100, 1, 1, 3},
		{"as many as lanes", 20, 20, 20, 60},
		{"more than lanes", 20, 50, 20, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var woken, running atomic.Int64
				r := open(t, runner.Options{Sleep: func(ctx context.Context, wake <-chan struct{}, _ time.Duration) {
					select {
					case <-wake:
						woken.Add(1)
					case <-ctx.Done():
					}
				}})
				end := make(chan struct{})
				w, err := r.NewWorker(7, runner.WorkerOptions{Concurrency: c.lanes,
					Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
						running.Add(1)
						<-end
						return nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				woken.Store(0)
				g := r.NewGroup(func(*runner.Group, error) {})
				for i := range c.messages {
					if err := g.Add(&runner.Message{To: 7, ID: []byte{byte(i)}}); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Submit(g); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if n := running.Load(); n != c.running {
					t.Errorf("%d run, want %d", n, c.running)
				}
				if n := woken.Load(); n > c.mostWoke {
					t.Errorf("%d were woken, want at most %d", n, c.mostWoke)
				}
				close(end)
				if err := w.Remove(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestFewLanesForLittleWork: messages that come one by one are run by the same lane, whose memory is
// warm, however many lanes there are.
func TestFewLanesForLittleWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		woken := map[<-chan struct{}]bool{}
		r := open(t, runner.Options{Sleep: func(ctx context.Context, wake <-chan struct{}, _ time.Duration) {
			select {
			case <-wake:
				mu.Lock()
				woken[wake] = true
				mu.Unlock()
			case <-ctx.Done():
			}
		}})
		w := start(t, r, 1, runner.WorkerOptions{Concurrency: 100,
			Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return nil }})[0]
		for range 50 {
			postAll(t, r, 1, true)
			synctest.Wait()
		}
		if w.Metrics().Successes != 50 || len(woken) > 2 {
			t.Errorf("%d messages were run by %d lanes", w.Metrics().Successes, len(woken))
		}
		if err := w.Remove(); err != nil {
			t.Error(err)
		}
	})
}
