package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
)

// bounded is a job that says how often and how long it may run.
type bounded struct {
	Most int
	Long time.Duration
}

func (b bounded) Attempts() int          { return b.Most }
func (b bounded) Timeout() time.Duration { return b.Long }

// TestHowOftenAJobRuns: how often a job that always fails is run, over how long, and why it is a
// dead letter then.
func TestHowOftenAJobRuns(t *testing.T) {
	const workerTimeout = 2 * time.Minute
	for _, c := range []struct {
		name     string
		options  runner.Policy
		own      *runner.Policy
		job      bounded
		fail     func(ctx context.Context) error
		runs     int
		from, to time.Duration // when the last run is
		cause    runner.Cause
	}{
		{"by default", runner.Policy{}, nil, bounded{}, nil, 25, 3 * time.Hour, 9 * time.Hour, runner.CauseBudget},
		{"by the runner's policy", runner.Policy{RetryBudget: 3}, nil, bounded{}, nil, 3, time.Second, 3 * time.Second, runner.CauseBudget},
		{"by the worker's policy", runner.Policy{RetryBudget: 3}, &runner.Policy{RetryBudget: 2}, bounded{}, nil, 2, 0, time.Second, runner.CauseBudget},
		{"by the job", runner.Policy{}, nil, bounded{Most: 2}, nil, 2, 0, time.Second, runner.CauseBudget},
		{"once", runner.Policy{}, nil, bounded{Most: 1}, nil, 1, 0, 0, runner.CauseBudget},
		{"the policy is the bound", runner.Policy{RetryBudget: 3}, nil, bounded{Most: 10}, nil, 3, time.Second, 3 * time.Second, runner.CauseBudget},
		{"once, with a panic", runner.Policy{}, nil, bounded{Most: 1}, func(context.Context) error { panic("ouch") }, 1, 0, 0, runner.CausePanic},
		{"at most for a minute", runner.Policy{}, nil, bounded{1, time.Minute}, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
			1, time.Minute, time.Minute, runner.CauseBudget},
		{"once, until the worker's timeout", runner.Policy{}, nil, bounded{Most: 1}, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			1, workerTimeout, workerTimeout, runner.CauseBudget},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := runner.Open(memstore.New(), runner.Options{Create: true, Policy: c.options})
				if err != nil {
					t.Fatal(err)
				}
				runs := 0
				begin := time.Now()
				q, err := runner.Handle(r, "mails", func(ctx context.Context, j *runner.Job[bounded]) error {
					runs++
					if c.fail != nil {
						return c.fail(ctx)
					}
					return errors.New("not today")
				}, runner.WorkerOptions{Policy: c.own, Timeout: workerTimeout})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := q.Post(t.Context(), c.job); err != nil {
					t.Fatal(err)
				}
				if err := q.Worker().Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				for r.Stats().DeadLetters == 0 && time.Since(begin) < 24*time.Hour {
					time.Sleep(100 * time.Millisecond)
				}
				took := time.Since(begin)
				if runs != c.runs || took < c.from || took > c.to+2*time.Second {
					t.Errorf("it ran %d times in %v, want %d in %v to %v", runs, took, c.runs, c.from, c.to)
				}
				dead, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10)
				if err != nil || len(dead) != 1 || dead[0].Cause != c.cause {
					t.Errorf("the dead letters are %+v, %v, want one because of %v", dead, err, c.cause)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestShutdown: the contexts of handlers end with the context of Shutdown or after the grace
// period, whichever is first, and an interrupted run is not the last one of a job that may run once.
func TestShutdown(t *testing.T) {
	for _, c := range []struct {
		name         string
		grace, limit time.Duration
		want         time.Duration
	}{
		{"the grace period is short", time.Second, time.Minute, time.Second},
		{"the context is short", time.Minute, time.Second, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New()
				r, err := runner.Open(s, runner.Options{Create: true})
				if err != nil {
					t.Fatal(err)
				}
				q, err := runner.Handle(r, "mails", func(ctx context.Context, _ *runner.Job[bounded]) error {
					<-ctx.Done()
					return ctx.Err()
				}, runner.WorkerOptions{Grace: c.grace})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := q.Post(t.Context(), bounded{Most: 1}); err != nil {
					t.Fatal(err)
				}
				if err := q.Worker().Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				if err := r.Shutdown(ctx); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				if r, err = runner.Open(s, runner.Options{}); err != nil {
					t.Fatal(err)
				}
				if s := r.Stats(); s.DeadLetters != 0 || s.Inboxes[0].Depth != 1 {
					t.Errorf("%d dead letters, %d wait, want the job to wait", s.DeadLetters, s.Inboxes[0].Depth)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestUndeclaredSchedule: a schedule of an earlier program that this one does not declare is told
// when the program runs.
func TestUndeclaredSchedule(t *testing.T) {
	s := memstore.New()
	for _, c := range []struct {
		name    string
		declare []string
		want    []string
	}{
		{"first start", []string{"digest", "report"}, nil},
		{"the same", []string{"report", "digest"}, nil},
		{"one less", []string{"report"}, []string{"digest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			r, err := runner.Open(s, runner.Options{Create: true, Sinks: runner.Sinks{Log: func(ev runner.LogEvent) {
				if ev.Kind == runner.LogUndeclared {
					told = append(told, ev.ID)
				}
			}}})
			if err != nil {
				t.Fatal(err)
			}
			q, err := runner.NewQueue[string](r, "mails")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range c.declare {
				if err := q.Every(t.Context(), name, "1h", name); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(told, c.want) {
				t.Errorf("told of %q, want %q", told, c.want)
			}
		})
	}
}

// ownBounds says how often it may run by its pointer.
type ownBounds struct{ Most int }

func (b *ownBounds) Attempts() int { return b.Most }

// TestBoundsOfAPointer: the bounds of a job count, too, where its type is a pointer, which may be nil.
func TestBoundsOfAPointer(t *testing.T) {
	for _, c := range []struct {
		name string
		job  *ownBounds
		dead uint64
	}{
		{"once", &ownBounds{1}, 1},
		{"as the policy says", &ownBounds{}, 0},
		{"nil", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, runner.Options{})
			q, err := runner.Handle(r, "mails", func(context.Context, *runner.Job[*ownBounds]) error {
				return errors.New("not today")
			}, runner.WorkerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := q.Post(t.Context(), c.job); err != nil {
				t.Fatal(err)
			}
			if _, err := q.Worker().TickOnce(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if n := r.Stats().DeadLetters; n != c.dead {
				t.Errorf("%d dead letters, want %d", n, c.dead)
			}
		})
	}
}
