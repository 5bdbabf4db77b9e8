package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

// A visit is the stay of a person at the boards, from the first board that he gets until
// he leaves or is gone. It sees the end of a game if that comes while it lasts, and the
// visitor has made a move in the game. Programs are no visitors.

// endVisit notes that a player has left, or is gone.
func (p *Profile) endVisit(s *session.Session) {
	if ended, sawEnd := s.EndVisit(); ended {
		p.stats.Deals.Visits++
		p.stats.Deals.SawEnd += one(sawEnd)
	}
}

// visitorsSee notes that those who have moved in a game during their visit see its end.
// Those of other shards are told of it, see Change.Moved.
func (p *Profile) visitorsSee(f *board.Finished) {
	for m := range f.Board.Moves() {
		if s := p.sessions.ByID(m.Session); s != nil {
			s.SeeEnd(m.At)
		}
	}
}

// lastMoved is when a session made its last move on a board; zero if it is not known.
func lastMoved(b *board.Board, by wamble.SessionID) (at time.Time) {
	for m := range b.Moves() {
		if m.Session == by {
			at = m.At
		}
	}
	return at
}
