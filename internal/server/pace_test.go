package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace: the drain rests only while players are busy and the store is not far
// behind.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name   string
		posted uint64 // while a batch of 400 intents was applied
		lag    time.Duration
		hurry  bool
		took   time.Duration
		want   time.Duration
	}{
		{"busy", 500, time.Second, false, 20 * ms, restShare * 20 * ms},
		{"busy, and a slow store", 500, time.Second, false, time.Second, longRest},
		{"quiet", 100, time.Second, false, 20 * ms, 0},
		{"far behind", 500, burstLag, false, 20 * ms, 0},
		{"the journal is being emptied", 500, time.Second, true, 20 * ms, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &paced{lag: func() time.Duration { return tc.lag }}
			p.hurry.Store(tc.hurry)
			p.posted.Store(1000)
			p.rest(0, 0)
			p.posted.Add(tc.posted)
			if got := p.rest(tc.took, 400); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPaceOfALongLoad: once the load has outlasted a burst, the drain catches up
// and stays close, until it is quiet.
func TestPaceOfALongLoad(t *testing.T) {
	const took = 20 * time.Millisecond
	lag := time.Second
	p := &paced{lag: func() time.Duration { return lag }}
	for _, tc := range []struct {
		what   string
		lag    time.Duration
		posted uint64
		want   time.Duration
	}{
		{"a burst", time.Second, 500, restShare * took},
		{"nearly too long", burstLag - 1, 500, restShare * took},
		{"too long", burstLag, 500, 0},
		{"catching up", time.Second, 500, 0},
		{"close", steadyLag - 1, 500, took},
		{"behind again", steadyLag, 500, 0},
		{"quiet", 0, 10, 0},
		{"another burst", time.Second, 500, restShare * took},
	} {
		lag = tc.lag
		p.posted.Add(tc.posted)
		if got := p.rest(took, 400); got != tc.want {
			t.Errorf("%s: got a rest of %v, want %v", tc.what, got, tc.want)
		}
	}
}

// TestPaceWakes: a rest ends when players are quiet, when the database is too far
// behind, and when the journal is to be emptied; else it is as long as it was
// meant to be.
func TestPaceWakes(t *testing.T) {
	for _, tc := range []struct {
		name string
		busy int // glances in which players do something
		far  int // glances until the database is too far behind
		stop int // glances until the journal is to be emptied
		want time.Duration
	}{
		{"quiet at once", 0, 1000, 1000, glance},
		{"quiet after a while", 7, 1000, 1000, 8 * glance},
		{"behind after a while", 1000, 9, 1000, 9 * glance},
		{"emptied after a while", 1000, 1000, 5, 5 * glance},
		{"busy", 1000, 1000, 1000, longRest},
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
