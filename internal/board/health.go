package board

import "time"

// Health is the progress of the games at a moment.
type Health struct {
	Opening int           // boards in play with fewer than openingPlies moves
	Frozen  int           // boards in play without a move for frozenAfter
	Waited  time.Duration // total time that boards in play have waited for their next move
	Longest time.Duration // the longest of these
}

const (
	openingPlies = 20
	frozenAfter  = time.Hour
)

// Health scans all boards.
func (p *Pool) Health(now time.Time) (h Health) {
	at := micros(now)
	for b := range p.All() {
		if b.asleep {
			continue
		}
		if b.Plies() < openingPlies {
			h.Opening++
		}
		waited := max(spanOf(at-b.since()), 0)
		if waited > frozenAfter {
			h.Frozen++
		}
		h.Waited += waited
		h.Longest = max(h.Longest, waited)
	}
	return h
}
