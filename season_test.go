package wamble

import (
	"math"
	"testing"
	"time"
)

// TestTeamsAreDealtAnew: in each of 120 months about half of the players are in each team,
// about half have the colour of the month before, and about half that of the player with the
// number before; of guests as of players.
func TestTeamsAreDealtAnew(t *testing.T) {
	const people, months = 2000, 120
	for _, sign := range []int64{1, -1} {
		var before [people]bool
		for m := range months {
			season := SeasonOf(time.Date(2026, time.Month(1+m), 1, 0, 0, 0, 0, time.UTC))
			black, stayed, alike := 0, 0, 0
			for i := range people {
				now := PlaysForBlack(sign*int64(1+i), season)
				if now {
					black++
				}
				if now == before[i] {
					stayed++
				}
				before[i] = now
				if i > 0 && now == before[i-1] {
					alike++
				}
			}
			if black < people*2/5 || black > people*3/5 {
				t.Errorf("%d: %d of %d play for Black", season, black, people)
			}
			if m > 0 && (stayed < people*2/5 || stayed > people*3/5) {
				t.Errorf("%d: %d of %d have the colour of the month before", season, stayed, people)
			}
			if alike < people*2/5 || alike > people*3/5 {
				t.Errorf("%d: %d of %d have the colour of their neighbour", season, alike, people)
			}
		}
	}
	for _, who := range []int64{0, 1, math.MaxInt64, -math.MaxInt64} {
		d := DealOf(202611)
		if n := max(who, -who)%d.Modulus*d.Factor + d.Term; n < 0 {
			t.Errorf("%d overflows", who)
		}
	}
}
