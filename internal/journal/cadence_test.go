package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/memstore"
)

// TestCadence runs a drain on a synthetic clock, and checks when the posted messages are
// applied.
func TestCadence(t *testing.T) {
	for _, tc := range []struct {
		name   string
		posted int
		fail   []error // of the store
		want   time.Duration
	}{
		{"one waits for the period", 1, nil, flushEvery},
		{"so do a few", fullAt - 1, nil, flushEvery},
		{"many are applied at once", fullAt, nil, 0},
		{"a backlog is applied in one go", 5*2048 + 1, nil, 0},
		// The pause after one failure is shorter than the period.
		{"what failed is tried again after the period", fullAt, []error{fmt.Errorf("away: %w", store.ErrTransient)}, flushEvery},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { timeDrain(t, tc.posted, tc.fail, tc.want) })
		})
	}
}

// timeDrain posts n messages to an idle drain, whose store returns the errors in fail, and
// requires that all of them are applied after exactly that time.
func timeDrain(t *testing.T, n int, fail []error, want time.Duration) {
	r, err := runner.Open(memstore.New(), runner.Options{Schema: Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	store := &fakeStore{fail: fail}
	var at time.Time
	d, err := NewDrain(t.Context(), r, store, DrainOptions{
		Profile: "blue", Limits: Limits{Intents: 512, Bytes: 65536},
		OnApplied: func(through uint64) {
			if through == uint64(n) {
				at = time.Now()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	synctest.Wait()

	postMany(t, r, d, n)
	start := time.Now()
	d.Added(n)
	time.Sleep(time.Second)
	synctest.Wait()
	if at.IsZero() {
		t.Error("not applied within a second")
	} else if got := at.Sub(start); got != want {
		t.Errorf("got it applied after %v, want %v", got, want)
	}
	if left := d.Pending(); left != 0 {
		t.Errorf("got %d pending, want 0", left)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestDrainRests: a drain pauses for the requested time after a transaction, when the batch
// is acknowledged, and takes what came meanwhile in one transaction, or as much as is
// allowed; sooner, if a caller is in a hurry.
func TestDrainRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := runner.Open(memstore.New(), runner.Options{Schema: Schema, Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		const rest = 400 * time.Millisecond
		var mu sync.Mutex
		var work []Work
		var at []time.Duration
		start, next := time.Now(), Next{Pause: rest}
		d, err := NewDrain(t.Context(), r, &fakeStore{}, DrainOptions{
			Profile: "blue", Limits: Limits{Intents: 512, Bytes: 65536},
			OnTransaction: func(w Work) Next {
				mu.Lock()
				defer mu.Unlock()
				work, at = append(work, w), append(at, time.Since(start))
				return next
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		put := func(n int) {
			postMany(t, r, d, n)
			d.Added(n)
			synctest.Wait()
		}
		put(fullAt)
		if !d.IsEmpty() {
			t.Error("it rests, and what the store has is not acknowledged")
		}
		put(3000)
		put(4000)
		mu.Lock()
		if len(work) != 1 {
			t.Errorf("got %d transactions while it rests", len(work))
		}
		next.Bytes = 40 * work[0].Bytes / work[0].Messages
		mu.Unlock()
		time.Sleep(rest)
		synctest.Wait()
		put(fullAt)
		time.Sleep(rest)
		synctest.Wait()
		time.Sleep(rest / 4)
		d.SetUrgent()
		synctest.Wait()
		mu.Lock()
		got, when := work, at
		mu.Unlock()
		for i, want := range []struct {
			least, most int
			at          time.Duration
		}{{fullAt, fullAt, 0}, {7000, 7000, rest}, {1, 60, 2 * rest}, {1, 60, 2*rest + rest/4}} {
			if len(got) <= i || got[i].Messages < want.least || got[i].Messages > want.most || when[i] != want.at {
				t.Errorf("got %+v at %v, want transaction %d to be %+v", got, when, i, want)
				break
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDrainAhead: a drain takes the messages of as many transactions as requested from the
// journal at once, each of the requested size, and acknowledges them together.
func TestDrainAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := runner.Open(memstore.New(), runner.Options{Schema: Schema, Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		const moves = 64 // of a message
		size := 0
		var work []int
		d, err := NewDrain(t.Context(), r, &fakeStore{}, DrainOptions{
			Profile: "blue", Limits: Limits{Intents: 8, Bytes: 65536},
			OnTransaction: func(w Work) Next {
				if work = append(work, w.Messages); size == 0 {
					size = w.Bytes
				}
				return Next{Bytes: 10 * size, Ahead: 3}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		tick := func(want ...int) {
			t.Helper()
			work = nil
			if _, err := d.tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(work, want) {
				t.Errorf("got transactions of %d messages, want %d", work, want)
			}
		}
		postFrames(t, r, d, 1, moves)
		tick(1)
		postFrames(t, r, d, 100, moves)
		tick(10, 10, 8) // the runner counts what it adds to a message
		if left := d.count(); left != 72 {
			t.Errorf("%d messages are left, want 72", left)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDrainAtRest: a drain that is blocked tries again after the period, not at once.
func TestDrainAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := runner.Open(memstore.New(), runner.Options{Schema: Schema, Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDrain(t.Context(), r, &fakeStore{},
			DrainOptions{Profile: "blue", Limits: Limits{Intents: 512, Bytes: 65536}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Quiesce(t.Context()); err != nil {
			t.Fatal(err)
		}
		postMany(t, r, d, 2*fullAt)
		d.Added(2 * fullAt)
		if got, want := d.untilNext(false), flushEvery; got != want {
			t.Fatalf("after a turn that moved nothing: got %v, want %v", got, want)
		}
		if got, want := d.untilNext(true), time.Duration(0); got != want {
			t.Errorf("after one that moved something: got %v, want %v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		time.Sleep(10 * flushEvery) // which never ends if the drain does not rest
		if got, want := d.Pending(), 2*fullAt; got != want {
			t.Errorf("got %d pending, want %d", got, want)
		}
		r.Resume()
		time.Sleep(2 * flushEvery)
		if got := d.Pending(); got != 0 {
			t.Errorf("got %d pending, want 0", got)
		}
		cancel()
		if err := errors.Join(<-ended, r.Close()); err != nil {
			t.Error(err)
		}
	})
}

// postMany posts moves as one group.
func postMany(t *testing.T, r *runner.Runner, d *Drain, n int) {
	t.Helper()
	postFrames(t, r, d, n, 1)
}

// postFrames posts messages of so many moves as one group.
func postFrames(t *testing.T, r *runner.Runner, d *Drain, n, moves int) {
	t.Helper()
	durable := make(chan error, 1)
	g := r.NewGroup(func(_ *runner.Group, err error) { durable <- err })
	for i := range n {
		frame := Begin(nil)
		for ply := range moves {
			frame = Append(frame, move(1, i*moves+ply+1))
		}
		if err := Add(g, d.Worker(), frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Submit(g); err != nil {
		t.Fatal(err)
	}
	if err := <-durable; err != nil {
		t.Fatal(err)
	}
}
