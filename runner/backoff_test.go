package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/runnertest"
)

// TestOutageMakesNoDeadLetters: while a dependency is away for some seconds no message
// becomes a dead letter, by the default policy.
func TestOutageMakesNoDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		const messages = 50
		begin := time.Now()
		done := 0
		w := start(t, r, 1, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
			if time.Since(begin) < 2*time.Second {
				return errors.New("away")
			}
			done++
			return nil
		}})[0]
		postAll(t, r, messages, true)
		time.Sleep(time.Minute)
		w.Stop()
		if err := w.Join(); err != nil {
			t.Fatal(err)
		}
		if noneDead(t, r); done != messages {
			t.Errorf("%d of %d messages are done", done, messages)
		}
	})
}

// TestBackoff: by default the delay doubles from a second, each drawn from the upper half,
// differs between messages, and is the same for the same failure; a function of the policy
// replaces it.
func TestBackoff(t *testing.T) {
	hard := errors.New("hard")
	waits := func(p runner.Policy, ordered bool) (got []time.Duration) {
		clock := runnertest.NewClock(100)
		r := open(t, runner.Options{Now: clock.Now, Sleep: clock.Sleep})
		w, err := r.NewWorker(7, runner.WorkerOptions{Policy: &p, Ordered: ordered,
			Handler: func(context.Context, *runner.Tx, *runner.Delivery) error { return hard }})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			postAll(t, r, 1, false)
			for range 5 {
				if _, err := w.Tick(t.Context()); err != nil {
					t.Fatal(err)
				}
				rows, err := r.Inbox(7, 0, 1)
				if err != nil || len(rows) != 1 {
					t.Fatalf("%d rows, %v", len(rows), err)
				}
				wait := rows[0].Lease.Deadline.Sub(time.UnixMilli(clock.Now().UnixMilli()))
				if ordered {
					wait = 0
					for w.Metrics().Attempts == uint64(len(got)+1) && wait < time.Hour {
						clock.Advance(time.Millisecond)
						wait += time.Millisecond
						if _, err := w.Tick(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					return append(got, wait)
				}
				got = append(got, wait)
				clock.Advance(wait + time.Millisecond)
			}
			if err := r.DropDeadLetter(t.Context(), runner.Row{}); !errors.Is(err, runner.ErrNotFound) {
				t.Fatal(err)
			}
			if _, err := w.Tick(t.Context()); err != nil { // the last one
				t.Fatal(err)
			}
		}
		return got
	}
	policy := runner.Policy{RetryBudget: 6}
	first := waits(policy, false)
	for i, d := range first {
		most := time.Second << (i % 5)
		if d < most/2 || d > most {
			t.Errorf("wait %d is %v, want from %v to %v", i, d, most/2, most)
		}
	}
	if slices.Equal(first[:5], first[5:]) {
		t.Errorf("two messages wait alike: %v", first)
	}
	if again := waits(policy, false); !slices.Equal(first, again) {
		t.Errorf("waits are %v, and then %v", first, again)
	}
	if got := waits(policy, true); got[0] < 500*time.Millisecond || got[0] > time.Second {
		t.Errorf("an ordered worker pauses for %v", got[0])
	}
	policy.Backoff = func(d *runner.Delivery, err error) time.Duration {
		if err != hard {
			t.Errorf("the backoff of %v", err)
		}
		return time.Duration(d.Attempts) * time.Minute
	}
	want := []time.Duration{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}
	for i := range want {
		want[i] *= time.Minute
	}
	if got := waits(policy, false); !slices.Equal(got, want) {
		t.Errorf("waits are %v, want %v", got, want)
	}
	policy.Backoff = func(*runner.Delivery, error) time.Duration { panic("in the backoff") }
	if got := waits(policy, false); !slices.Equal(got, first) {
		t.Errorf("with a backoff that panics waits are %v, want %v", got, first)
	}
}
