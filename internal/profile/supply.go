package profile

import (
	"time"

	"wamble"
)

// supply is how large the pool of boards should be. It is reconsidered from time
// to time: longer games and more players need more boards, so that a player does
// not always get the same one next.
type supply struct {
	wanted int
	next   time.Duration // when wanted is reconsidered
}

const (
	// supplyEvery is how often the size of the pool is reconsidered.
	supplyEvery = time.Minute
	// fillAtOnce is how many boards one step makes, in about a millisecond: a large
	// pool is filled by many steps, and players move between them.
	fillAtOnce = 128
)

// fill brings the pool up to its size, as far as there are numbers.
func (p *Profile) fill(out *Output) {
	s := &p.supply
	if p.clock.since >= s.next {
		s.wanted = p.boards.Options().Target(p.boards.Longest(), p.sessions.Present())
		s.next = p.clock.since + supplyEvery
	}
	if p.short() {
		p.boards.Grow(p.clock.now, min(s.wanted, p.boards.Len()+fillAtOnce), &p.draft)
		p.seal(out)
	}
}

// short reports whether boards are missing, and can be made.
func (p *Profile) short() bool {
	return p.boards.Len() < p.supply.wanted && p.leases.Left(wamble.BoardIDs) > 0
}
