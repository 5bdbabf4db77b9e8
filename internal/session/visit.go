package session

import "time"

// BeginVisit begins a visit when a person gets a board, unless one is under way.
func (s *Session) BeginVisit(now time.Time) {
	if s.visit == 0 && !s.bot {
		s.visit, s.sawEnd = uint32(now.Unix()), false
	}
}

// SeeEnd says that a game has ended in which the player moved at a time. It counts if that was during the
// visit.
func (s *Session) SeeEnd(moved time.Time) {
	s.sawEnd = s.sawEnd || s.visit != 0 && moved.Unix() >= int64(s.visit)
}

// EndVisit says that the player has left, or is gone. It returns whether a visit has ended, and whether it
// saw the end of a game.
func (s *Session) EndVisit() (ended, sawEnd bool) {
	ended = s.visit != 0
	s.visit = 0
	return ended, s.sawEnd
}
