package runner

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const years = 12 * 365 * 24 * time.Hour

// TestScheduleAfterAJump: a wall clock that is wrong for a moment does not leave a schedule armed
// for that time, neither in this process nor in the next.
func TestScheduleAfterAJump(t *testing.T) {
	for _, spec := range []string{"10m", "*/10 * * * *"} {
		for _, reopened := range []bool{false, true} {
			c, pass, set := fakeClock()
			r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, Now: c.now, Wall: c.wall})
			if err != nil {
				t.Fatal(err)
			}
			q, err := Handle(r, "q", func(context.Context, *Job[int]) error { return nil }, WorkerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tick := func() {
				t.Helper()
				if _, err := q.Worker().Tick(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := q.Every(t.Context(), "report", spec, 1); err != nil {
				t.Fatal(err)
			}
			tick()
			set(years)
			pass(1500 * time.Millisecond)
			tick()
			if next := r.Schedules()[0].Next; next.Before(c.wall()) {
				t.Fatalf("%s: the next time is %v at %v", spec, next, c.wall())
			}
			set(-years)
			if reopened {
				if err := r.Reopen(); err != nil {
					t.Fatal(err)
				}
			}
			pass(2 * time.Second)
			tick()
			// The time that came early because of the jump is not repeated.
			if next := r.Schedules()[0].Next; next.After(c.wall().Add(20 * time.Minute)) {
				t.Errorf("%s, reopened %t: the next time is %v at %v", spec, reopened, next, c.wall())
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestScheduleRepeatsNothing: a time of a cron expression that has come does not come again when
// the wall clock is set back before it.
func TestScheduleRepeatsNothing(t *testing.T) {
	c, pass, set := fakeClock()
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, Now: c.now, Wall: c.wall})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ran := 0
	q, err := Handle(r, "q", func(context.Context, *Job[int]) error { ran++; return nil }, WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Every(t.Context(), "report", "0 8 * * *", 1); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ pass, set time.Duration }{{8*time.Hour + time.Second, 0}, {time.Second, -30 * time.Second}, {time.Minute, 0}} {
		pass(step.pass)
		set(step.set)
		for range 2 {
			if _, err := q.Worker().Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran != 1 {
		t.Errorf("it ran %d times, want once a day", ran)
	}
}

// TestOnceAfterAJump: a wall clock that is wrong for a moment does not make a job run again that
// was to run once.
func TestOnceAfterAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, Wall: func() time.Time {
			return time.Now().Round(0).Add(time.Duration(ahead.Load()))
		}})
		if err != nil {
			t.Fatal(err)
		}
		var ran atomic.Int64
		q, err := Handle(r, "q", func(context.Context, *Job[int]) error { ran.Add(1); return nil }, WorkerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Worker().Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		post := func(want int64) {
			t.Helper()
			if _, err := q.Post(t.Context(), 1, Once("invoice")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := ran.Load(); got != want {
				t.Errorf("it ran %d times, want %d", got, want)
			}
		}
		post(1)
		ahead.Store(int64(years))
		time.Sleep(1500 * time.Millisecond)
		post(1)
		ahead.Store(0)
		post(1)
		time.Sleep(24 * time.Hour)
		post(2) // it was remembered for a day
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
