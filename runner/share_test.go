package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/internal/mailbox"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// open opens a runner on the memory storage and closes it at the end.
func open(t *testing.T, o runner.Options) *runner.Runner {
	t.Helper()
	o.Create, o.MinFree = true, -1
	r, err := runner.Open(memstore.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// postAll posts n messages to worker 7: in one commit, or each in its own.
func postAll(t *testing.T, r *runner.Runner, n int, together bool) {
	t.Helper()
	durable := make(chan error, 1)
	g := r.NewGroup(func(_ *runner.Group, err error) { durable <- err })
	for i := range n {
		if err := g.Add(&runner.Message{To: 7, ID: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
		if together && i+1 < n {
			continue
		}
		if err := r.Submit(g); err != nil {
			t.Fatal(err)
		}
		if err := <-durable; err != nil {
			t.Fatal(err)
		}
		g.Reset()
	}
}

// start adds n started workers to inbox 7.
func start(t *testing.T, r *runner.Runner, n int, o runner.WorkerOptions) []*runner.Worker {
	t.Helper()
	var all []*runner.Worker
	for range n {
		w, err := r.NewWorker(7, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// noneDead fails the test if a dead letter exists.
func noneDead(t *testing.T, r *runner.Runner) {
	t.Helper()
	dead, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dead {
		t.Errorf("row %d is a dead letter: %s, %s", d.Source.Seq, d.Cause, d.Reason)
	}
}

// TestSlowHandlerKeepsItsLease: a handler that takes six times the duration of a lease runs
// once, though six idle workers wait for its row; and the stored row is leased all the time.
func TestSlowHandlerKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		runs := 0
		var mu sync.Mutex
		done := make(chan struct{})
		start(t, r, 7, runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			if runs++; runs > 1 {
				return nil
			}
			mu.Unlock()
			defer mu.Lock()
			for range 60 {
				time.Sleep(100 * time.Millisecond)
				rows, err := r.Inbox(7, 0, 1)
				if err != nil || len(rows) != 1 || rows[0].Lease.Deadline.Before(time.Now()) {
					t.Errorf("while it runs the inbox has %+v, %v", rows, err)
				}
			}
			close(done)
			return nil
		}})
		postAll(t, r, 1, false)
		<-done
		time.Sleep(10 * time.Second)
		if mu.Lock(); runs != 1 {
			t.Errorf("the handler ran %d times", runs)
		}
		mu.Unlock()
		noneDead(t, r)
		if s := r.Stats(); s.Inboxes[0].Depth != 0 {
			t.Errorf("%d messages are left", s.Inboxes[0].Depth)
		}
	})
}

// TestWorkersShareAnInbox: with slow handlers the time for a queue falls with the number of
// workers; every message runs once and none is buried.
func TestWorkersShareAnInbox(t *testing.T) {
	const messages, takes = 96, 3 * time.Second
	for _, together := range []bool{false, true} {
		for _, workers := range []int{1, 4, 16} {
			t.Run(fmt.Sprintf("together=%v/workers=%d", together, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := open(t, runner.Options{})
					postAll(t, r, messages, together)
					runs := map[string]int{}
					var mu sync.Mutex
					done := make(chan struct{})
					begin := time.Now()
					all := start(t, r, workers,
						runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
							time.Sleep(takes)
							mu.Lock()
							defer mu.Unlock()
							if runs[string(d.ID)]++; len(runs) == messages {
								close(done)
							}
							return nil
						}})
					<-done
					// Ideal is an equal share for each; half as much again is allowed.
					if got, want := time.Since(begin), takes*messages/time.Duration(workers)*3/2; got > want {
						t.Errorf("it took %v, want at most %v", got, want)
					}
					time.Sleep(takes)
					for id, n := range runs {
						if n != 1 {
							t.Errorf("message %s ran %d times", id, n)
						}
					}
					for i, w := range all {
						if m := w.Metrics(); m.LeasesLost+m.Expired > 0 {
							t.Errorf("worker %d: %d leases lost, %d expired", i, m.LeasesLost, m.Expired)
						}
					}
					noneDead(t, r)
				})
			})
		}
	}
}

// TestLostRowIsNotRun: when another claimant takes a row of a worker, the context of its
// handler ends, and rows that wait behind it are not run.
func TestLostRowIsNotRun(t *testing.T) {
	for _, batched := range []bool{false, true} {
		t.Run(fmt.Sprintf("batched=%v", batched), func(t *testing.T) {
			clock := runnertest.NewClock(100)
			var told []string
			sinks := runner.Sinks{Log: func(ev runner.LogEvent) {
				told = append(told,
					fmt.Sprint(ev.ID, ": ", ev.Err))
			}}
			r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep, Sinks: sinks})
			postAll(t, r, 4, true)
			var ran []string
			steal := func(seqs ...uint64) {
				clock.Advance(2 * time.Second)
				for _, seq := range seqs {
					if err := mailbox.Claim(t.Context(), r, 7, seq, time.UnixMilli(1_000_000)); err != nil {
						t.Errorf("row %d: %v", seq, err)
					}
				}
			}
			lost := func(ctx context.Context) {
				select {
				case <-ctx.Done():
				default:
					t.Error("the context of a handler whose row was taken goes on")
				}
				if !errors.Is(context.Cause(ctx), runner.ErrLeaseLost) {
					t.Errorf("it ended because of %v", context.Cause(ctx))
				}
			}
			o := runner.WorkerOptions{Handler: func(ctx context.Context, tx *runner.Tx, d *runner.Delivery) error {
				ran = append(ran, string(d.ID))
				if ctx.Err() != nil {
					t.Errorf("message %s begins with %v", d.ID, ctx.Err())
				}
				if len(ran) == 1 {
					steal(1, 3)
					lost(ctx)
				}
				return nil
			}}
			if batched {
				o = runner.WorkerOptions{Batch: func(ctx context.Context, b *runner.Batched) error {
					for _, d := range b.Deliveries {
						ran = append(ran, string(d.ID))
					}
					if ctx.Err() != nil {
						t.Errorf("a batch begins with %v", ctx.Err())
					}
					if len(ran) == 4 {
						steal(1, 3)
						lost(ctx)
						ran = ran[:1]
					}
					return nil
				}}
			}
			w, err := r.NewWorker(7, o)
			if err != nil {
				t.Fatal(err)
			}
			n, err := w.Tick(t.Context())
			if err != nil || n != 2 {
				t.Errorf("completed %d, %v, want 2", n, err)
			}
			if got := fmt.Sprint(ran); got != "[0 1 3]" {
				t.Errorf("ran %s, want [0 1 3]", got)
			}
			if m := w.Metrics(); m.LeasesLost != 2 {
				t.Errorf("%d leases were lost, want 2", m.LeasesLost)
			}
			for _, id := range []string{"0", "2"} {
				if !slices.ContainsFunc(told, func(s string) bool {
					return strings.HasPrefix(s, id+": ") && strings.HasSuffix(s, runner.ErrLeaseLost.Error())
				}) {
					t.Errorf("told %q, want the loss of %s among it", told, id)
				}
			}
		})
	}
}

// TestPausedBatchIsTakenOverUncounted: a worker that is ticked by hand keeps its claim only
// while it is ticked, or until its lease ends; a claim that is taken over from it spends no
// attempt, and it does not run the row any more.
func TestPausedBatchIsTakenOverUncounted(t *testing.T) {
	clock := runnertest.NewClock(100)
	r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep})
	postAll(t, r, 2, false)
	hard := errors.New("hard")
	policy := &runner.Policy{StopOnError: true, RetryBudget: 1}
	runs := 0
	first, err := r.NewWorker(7,
		runner.WorkerOptions{Policy: policy, Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
			runs++
			clock.Advance(10 * time.Millisecond) // so that each is settled by itself
			return hard
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Tick(t.Context()); !errors.Is(err, hard) {
		t.Fatalf("it stopped with %v", err)
	}
	clock.Advance(2 * time.Second)
	attempts := uint32(0)
	second, err := r.NewWorker(7,
		runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
			attempts = d.Attempts
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := second.Tick(t.Context()); n != 1 || err != nil || attempts != 1 {
		t.Errorf("completed %d with %d attempts, %v", n, attempts, err)
	}
	if n, err := first.Tick(t.Context()); n != 0 || err != nil || runs != 1 {
		t.Errorf("completed %d after %d runs, %v", n, runs, err)
	}
}

// TestSlowWorkersScale: with more slow workers on one inbox more is done in the same
// time, nearly in proportion, and no message is run twice or buried.
func TestSlowWorkersScale(t *testing.T) {
	var took [2]time.Duration
	for i, workers := range []int{1, 16} {
		synctest.Test(t, func(t *testing.T) {
			const messages = 320
			r := open(t, runner.Options{})
			var runs atomic.Int32
			for range workers {
				w, err := r.NewWorker(7, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx,
					*runner.Delivery) error {
					runs.Add(1)
					time.Sleep(2500 * time.Millisecond) // longer than a lease
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			begin := time.Now()
			postAll(t, r, messages, true)
			for r.Stats().Inboxes[0].Depth > 0 {
				time.Sleep(100 * time.Millisecond)
			}
			took[i] = time.Since(begin)
			if runs.Load() != messages {
				t.Errorf("%d workers ran %d messages %d times", workers, messages, runs.Load())
			}
			noneDead(t, r)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	gain := took[0].Seconds() / took[1].Seconds()
	t.Logf("measured: 16 slow workers do %.1f times as much as one", gain)
	if gain < 14 {
		t.Errorf("one worker takes %v, 16 take %v", took[0], took[1])
	}
}
