package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/store"
)

// TestPace walks a load from its first batch to its end.
func TestPace(t *testing.T) {
	const took, ms = 20 * time.Millisecond, time.Millisecond
	var lag time.Duration
	p := &paced{lag: func() time.Duration { return lag }}
	now := time.Unix(1e9, 0)
	p.next(now, took)
	for _, tc := range []struct {
		what   string
		after  time.Duration // since the batch before
		posted uint64        // meanwhile
		lag    time.Duration
		hurry  bool
		rest   time.Duration
		brake  float64
	}{
		{"little to do", time.Second, 100, 200 * ms, false, 0, 0},
		{"a burst", time.Second, 20_000, time.Second, false, restShare * took, 0},
		{"the journal is emptied", time.Second, 20_000, time.Second, true, 0, 0},
		{"nearly too long", burstTime - 2*time.Second, 20_000, 8 * time.Second, false, restShare * took, 0},
		{"too long, and far behind", 2 * time.Second, 20_000, 4 * time.Second, false, 0, 0},
		{"the bound falls", 4 * time.Second, 20_000, 3 * time.Second, false, 0, mostBrake / 2},
		{"half of the bound", 2 * time.Second, 20_000, time.Second, false, 0, 0},
		{"the bound is low", time.Minute, 20_000, steadyLag, false, 0, mostBrake},
		{"between", time.Second, 20_000, steadyLag * 3 / 4, false, 0, mostBrake / 2},
		{"close", time.Second, 20_000, 400 * ms, false, batchTime - took, 0},
		{"a slow moment is no end", 500 * ms, 100, 300 * ms, false, batchTime - took, 0},
		{"behind, so no end either", 2 * time.Second, 100, 2 * time.Second, false, 0, mostBrake},
		{"quiet", 2 * time.Second, 100, 100 * ms, false, 0, 0},
		{"another burst", time.Second, 20_000, time.Second, false, restShare * took, 0},
		{"too far behind for a burst", time.Second, 20_000, burstLag, false, 0, 0},
		{"and it does not catch up", 5 * time.Second, 200_000, burstLag, false, 0, mostBrake / 3},
	} {
		lag = tc.lag
		now = now.Add(tc.after)
		p.posted.Add(tc.posted)
		p.hurry.Store(tc.hurry)
		if got := p.next(now, took); got != tc.rest {
			t.Errorf("%s: got a rest of %v, want %v", tc.what, got, tc.rest)
		}
		if got := p.brake.share(now); got < tc.brake-0.01 || got > tc.brake+0.01 {
			t.Errorf("%s: got a brake of %.2f, want %.2f", tc.what, got, tc.brake)
		}
	}
	slow := &paced{lag: func() time.Duration { return time.Second }}
	slow.next(now, took)
	slow.posted.Add(1e6)
	if got, want := slow.next(now.Add(time.Second), time.Second), longRest; got != want {
		t.Errorf("a slow store: got a rest of %v, want %v", got, want)
	}
}

// TestPaceInherits: the load of the image before is no burst of this one.
func TestPaceInherits(t *testing.T) {
	const took = 20 * time.Millisecond
	for _, tc := range []struct {
		what   string
		posted uint64
		lag    time.Duration
		rest   time.Duration
	}{
		{"far behind", 20_000, 3 * time.Second, 0},
		{"close", 20_000, 100 * time.Millisecond, batchTime - took},
		{"nobody plays", 10, 100 * time.Millisecond, 0},
	} {
		p := &paced{lag: func() time.Duration { return tc.lag }}
		now := time.Unix(1e9, 0)
		p.inherit(now)
		p.posted.Add(tc.posted)
		if got := p.next(now.Add(time.Second), took); got != tc.rest {
			t.Errorf("%s: got a rest of %v, want %v", tc.what, got, tc.rest)
		}
	}
}

// TestPaceSettles lets a drain that is slower than the players drain for a minute:
// after the burst the lag comes down, and stays below a second, and players go
// on with what the drain can take.
func TestPaceSettles(t *testing.T) {
	const (
		full  = 30_000.0 // moves a second without a brake
		drain = 20_000.0 // moves a second without a rest
		most  = 4_000.0  // moves in a batch
	)
	type chunk struct {
		at    time.Time
		moves float64
	}
	var journal []chunk
	now := time.Unix(1e9, 0)
	lag := func() time.Duration {
		if len(journal) == 0 {
			return 0
		}
		return now.Sub(journal[0].at)
	}
	p := &paced{lag: lag}
	p.next(now, 0)
	start, played, slowest := now, 0.0, 1.0
	pass := func(d time.Duration) { // players play meanwhile
		for end := now.Add(d); now.Before(end); now = now.Add(time.Millisecond) {
			share := 1 - p.brake.share(now)
			slowest = min(slowest, share)
			n := full * share / 1000
			played += n
			journal = append(journal, chunk{now, n})
			p.posted.Store(uint64(played))
		}
	}
	for now.Sub(start) < time.Minute {
		batch, n := 0.0, 0
		for ; n < len(journal) && batch < most; n++ {
			batch += journal[n].moves
		}
		took := max(time.Duration(batch/drain*1e9), time.Millisecond)
		pass(took)
		rest := p.next(now, took)
		journal = journal[n:]                                  // acknowledged
		pass(min(rest, max(burstTime-now.Sub(start), glance))) // see sleep
		switch since := now.Sub(start); {
		case since < 10*time.Second && slowest < 1:
			t.Fatalf("after %v players were braked, by %.2f: that is a burst", since, 1-slowest)
		case since > 45*time.Second && lag() > time.Second:
			t.Fatalf("after %v the lag is %v, want at most a second", since, lag())
		}
	}
	if slowest < 1-mostBrake-0.01 || slowest == 1 {
		t.Errorf("players got %.2f of the loop at the least, want more than nothing and less than all", slowest)
	}
	rested := burstTime.Seconds() * restShare / (1 + restShare)
	if got, want := played, drain*(60-rested); got < 0.95*want {
		t.Errorf("players made %.0f moves, want what the drain can take, %.0f", got, want)
	}
}

// brokenStore takes batches while it works.
type brokenStore struct {
	store.Store
	err error
}

func (s *brokenStore) Apply(context.Context, store.Batch) error { return s.err }

// TestNoBrakeDuringAnOutage: what takes no batches has no say, whether it refuses
// them or hangs.
func TestNoBrakeDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &brokenStore{}
		p := &paced{Store: db, lag: func() time.Duration { return time.Minute }}
		apply := func() (err error) {
			for range 40 {
				time.Sleep(time.Second)
				p.posted.Add(20_000)
				err = p.Apply(t.Context(), store.Batch{})
			}
			return err
		}
		braked := func() bool { return p.brake.share(time.Now()) > 0 }
		if err := apply(); err != nil || !braked() {
			t.Fatalf("far behind: got %v, braked %v, want a brake", err, braked())
		}
		db.err = errors.New("away")
		if err := apply(); !errors.Is(err, db.err) || braked() {
			t.Errorf("an outage: got %v, braked %v, want no brake", err, braked())
		}
		db.err = nil
		if err := apply(); err != nil || !braked() {
			t.Errorf("it is back: got %v, braked %v, want a brake", err, braked())
		}
		time.Sleep(brakeTime + time.Second)
		if braked() {
			t.Error("a store that hangs brakes for ever")
		}
	})
}

// TestBrake: the loop leaves its share, in pauses that are worth a timer.
func TestBrake(t *testing.T) {
	var b brake
	now := time.Unix(1e9, 0)
	if b.worked(now, time.Second); b.hold(now) != 0 {
		t.Error("a loop that nobody brakes was held")
	}
	b.set(0.5, now.Add(time.Minute))
	if b.worked(now, 600*time.Microsecond); b.hold(now) != 0 {
		t.Errorf("got a hold of %v, want none shorter than %v", b.hold(now), leastHold)
	}
	b.worked(now, 600*time.Microsecond)
	if got, want := b.hold(now), 1200*time.Microsecond; got != want {
		t.Errorf("got a hold of %v, want %v", got, want)
	}
	if got := b.hold(now.Add(time.Second)); got != 0 {
		t.Errorf("later: got a hold of %v", got)
	}
	if b.worked(now, time.Second); b.hold(now) != mostHold {
		t.Errorf("got a hold of %v, want at most %v", b.hold(now), mostHold)
	}
	if b.release(); b.hold(now) != 0 {
		t.Error("a brake that was released holds")
	}
}

// TestPaceWakes: a rest ends when players are quiet, when the burst has lasted too
// long or the database is too far behind, and when the journal is to be emptied;
// else it is as long as it was meant to be.
func TestPaceWakes(t *testing.T) {
	for _, tc := range []struct {
		name string
		age  time.Duration // of the burst
		busy int           // glances in which players do something
		far  int           // glances until the database is too far behind
		stop int           // glances until the journal is to be emptied
		want time.Duration
	}{
		{"quiet at once", 0, 0, 1000, 1000, glance},
		{"quiet after a while", 0, 7, 1000, 1000, 8 * glance},
		{"behind after a while", 0, 1000, 9, 1000, 9 * glance},
		{"emptied after a while", 0, 1000, 1000, 5, 5 * glance},
		{"no burst after a while", burstTime - 3*glance, 1000, 1000, 1000, 3 * glance},
		{"busy", 0, 1000, 1000, 1000, longRest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p := &paced{lag: func() time.Duration {
					if time.Since(began) >= time.Duration(tc.far)*glance {
						return burstLag
					}
					return 0
				}}
				p.began = began.Add(-tc.age)
				go func() {
					for n := range tc.busy {
						time.Sleep(glance - time.Millisecond)
						p.posted.Add(1)
						p.hurry.Store(n+1 >= tc.stop)
						time.Sleep(time.Millisecond)
					}
				}()
				p.sleep(t.Context(), longRest)
				if got := time.Since(began); got != tc.want {
					t.Errorf("got a rest of %v, want %v", got, tc.want)
				}
				time.Sleep(time.Hour) // in the time of the bubble: the players end
			})
		})
	}
}
