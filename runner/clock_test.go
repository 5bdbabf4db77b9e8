package runner

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDefaultClock: the default clock counts from Open, and does not return a reading of the
// wall clock, which carries "m=".
func TestDefaultClock(t *testing.T) {
	before := time.Now()
	now := Options{}.withDefaults().Now
	first, second := now(), now()
	after := time.Now()
	if first.Before(before.Round(0)) || second.Before(first) || second.After(after.Round(0)) {
		t.Errorf("got %v, %v, want them in order between %v and %v", first, second, before, after)
	}
	if strings.Contains(first.String(), "m=") {
		t.Errorf("got %v, a reading of the wall clock, want one that was counted from Open", first)
	}
}

// fakeClock is a clock whose wall clock can be set.
func fakeClock() (c *clock, pass func(time.Duration), set func(time.Duration)) {
	var elapsed, wall time.Duration
	base := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	c = &clock{base: base, elapsed: func() time.Duration { return elapsed },
		wall: func() time.Time { return base.Add(wall) }}
	pass = func(d time.Duration) { elapsed, wall = elapsed+d, wall+d }
	set = func(d time.Duration) { wall += d }
	return c, pass, set
}

// TestClockFollowsTheWall: a clock that was opened before the wall clock was set follows it
// within a second. A wall clock that is set back delays nothing, and the time until it
// catches up is not counted twice.
func TestClockFollowsTheWall(t *testing.T) {
	const hour = time.Hour
	c, pass, set := fakeClock()
	start := c.now()
	want := time.Duration(0)
	for _, step := range []struct{ pass, set, jump time.Duration }{
		{time.Second, 0, 0},
		{time.Second, 400_000 * hour, 400_000 * hour},
		{time.Second, 50 * time.Millisecond, 0}, // no step
		{time.Second, -2 * hour, 0},
		{hour, 0, 0},
		{time.Second, 2 * hour, 0}, // it was there already
		{time.Second, hour, hour},
	} {
		set(step.set)
		before := c.now()
		pass(step.pass)
		want += step.pass + step.jump
		got := c.now().Sub(start)
		if late := got - want; late < 0 || late > 100*time.Millisecond {
			t.Errorf("after %+v: %v, want %v", step, got, want)
		}
		if c.now().Before(before) {
			t.Errorf("after %+v it went back", step)
		}
	}
}

// TestTimersFollowTheWall: a timer is due by the wall clock, whatever the clock of leases
// shows, and a wall clock that is set back lets no timer fire early or again.
func TestTimersFollowTheWall(t *testing.T) {
	c, pass, set := fakeClock()
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, Now: c.now, Wall: c.wall})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fired := 0
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(context.Context, *Tx,
		*Delivery) error {
		fired++
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	message := Message{To: 7, ID: []byte("m")}
	tick := func(want int) {
		t.Helper()
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if fired != want {
			t.Errorf("fired %d times, want %d", fired, want)
		}
	}
	arm := func(after time.Duration) {
		t.Helper()
		if _, err := r.Arm(t.Context(), c.wall().Add(after), &message); err != nil {
			t.Fatal(err)
		}
	}
	set(100 * time.Hour)
	pass(2 * time.Second)
	arm(time.Second)
	tick(0)
	pass(2 * time.Second)
	tick(1)
	set(-50 * time.Hour)
	pass(2 * time.Second)
	arm(time.Hour) // by the present wall clock, which is behind the clock
	tick(1)
	if d := w.IdleSleep(); d <= 0 {
		t.Errorf("it would sleep %v, a loop without a rest", d)
	}
	pass(time.Hour)
	tick(2)
	tick(2)
}

// TestDelaysAfterTheWallWentBack: messages that were delayed by a clock ahead of the wall
// clock wait no longer in a process that starts by the wall clock; and a delay that is asked
// for lasts its full time.
func TestDelaysAfterTheWallWentBack(t *testing.T) {
	c, pass, set := fakeClock()
	storage := NewTestStorage()
	openAt := func(c *clock) *Runner {
		r, err := Open(storage, Options{Create: true, MinFree: -1, Now: c.now, Wall: c.wall})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := openAt(c)
	ran := 0
	worker := func(r *Runner, err error) *Worker {
		w, e := r.NewWorker(7, WorkerOptions{Handler: func(context.Context, *Tx,
			*Delivery) error {
			ran++
			return err
		}})
		if e != nil {
			t.Fatal(e)
		}
		return w
	}
	tick := func(w *Worker, want int, when string) {
		t.Helper()
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ran != want {
			t.Errorf("%s: run %d times, want %d", when, ran, want)
		}
	}
	pass(200 * time.Hour)
	set(-50 * time.Hour)
	pass(2 * time.Second)
	if _, err := r.Post(t.Context(), &Message{To: 7, ID: []byte("m")}); err != nil {
		t.Fatal(err)
	}
	tick(worker(r, Retry(errors.New("later"), time.Minute)), 1, "at first")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	next := newClock(c.wall)
	next.elapsed = func() time.Duration { return c.wall().Sub(next.base) }
	r = openAt(next)
	defer r.Close()
	w := worker(r, nil)
	tick(w, 1, "before the minute has passed")
	pass(time.Minute + time.Second)
	tick(w, 2, "when it has passed")

	set(-50 * time.Hour)
	pass(2 * time.Second)
	q, err := NewQueue[int](r, "later")
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.Message(1, After(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if wait := m.At.Sub(c.wall()); wait != time.Hour {
		t.Errorf("it waits %v by the wall, want an hour", wait)
	}
}

// TestWhoReadsTheWall: only the package's clock reads the wall clock.
func TestWhoReadsTheWall(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && (s.Sel.Name == "Now" || s.Sel.Name == "Until") {
					got = append(got, name+": time."+s.Sel.Name)
				}
			}
			return true
		})
	}
	if want := []string{"clock.go: time.Now", "clock.go: time.Now"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
