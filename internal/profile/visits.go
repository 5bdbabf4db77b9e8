package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

// A visit is the time a person spends at boards, from their first board until they leave or are gone. It
// counts as one that saw an end if a game in which the visitor moved during the visit ended before the
// visit did. Programs make no visits.

// endVisit records that a player has left, or is gone.
func (p *Profile) endVisit(s *session.Session) {
	if ended, sawEnd := s.EndVisit(); ended {
		p.stats.Deals.Visits++
		p.stats.Deals.SawEnd += one(sawEnd)
	}
}

// visitorsSee records the end of a game for the visits of players who moved in it. Visits in other shards
// get it by StoreEvent.Moved.
func (p *people) visitorsSee(f *board.Finished) {
	for m := range f.Board.Moves() {
		if s := p.sessions.ByID(m.Session); s != nil {
			s.SeeEnd(m.At)
		}
	}
}

// lastMoved returns the time of a session's last move on a board; zero if unknown.
func lastMoved(b *board.Board, by wamble.SessionID) (at time.Time) {
	for m := range b.Moves() {
		if m.Session == by {
			at = m.At
		}
	}
	return at
}
