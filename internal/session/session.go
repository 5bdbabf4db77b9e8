package session

import (
	"time"

	"wamble"
)

// Session is the stay of one player in memory. It is the table's own memory:
// do not keep it beyond the next call of Due, Applied, Goodbye or Logout.
type Session struct {
	id       wamble.SessionID
	token    wamble.Token
	identity *Identity // nil: anonymous
	own      wamble.Stats
	trust    int32
	times    times
	seq      uint64 // of the last message of the journal that concerned it
	left     wamble.BoardID
	terms    terms
	greeting *greeting  // while it is fresh
	pending  *challenge // nil: none
	link
}

// times are microseconds since 1970.
type times struct {
	created int64
	heard   int64 // last sign of life
	noted   int64 // the last one that was kept
}

func micros(t time.Time) int64  { return t.UnixMicro() }
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// ID returns the number of the session.
func (s *Session) ID() wamble.SessionID { return s.id }

// Token returns the secret of the session.
func (s *Session) Token() wamble.Token { return s.token }

// Trust returns the trust level that the host gave it.
func (s *Session) Trust() int { return int(s.trust) }

// SetTrust changes it.
func (s *Session) SetTrust(level int) { s.trust = int32(level) }

// Identity returns whose session it is, nil for an anonymous one.
func (s *Session) Identity() *Identity { return s.identity }

// Fresh reports whether nobody was heard since the first hello.
func (s *Session) Fresh() bool { return s.greeting != nil }

// Created and Seen return when it was made, and its last sign of life.
func (s *Session) Created() time.Time { return timeOf(s.times.created) }
func (s *Session) Seen() time.Time    { return timeOf(s.times.heard) }

// Left returns the board that the player left last, 0 if there is none.
func (s *Session) Left() wamble.BoardID { return s.left }

// SetLeft says which board that is.
func (s *Session) SetLeft(b wamble.BoardID) { s.left = b }

// Own returns the counters of this session alone. Its rating is 0.
func (s *Session) Own() wamble.Stats { return s.own }

// Stats returns the counters of the player: of all sessions of his identity, or
// of this one if he is anonymous, with the rating that new players have.
func (t *Table) Stats(s *Session) wamble.Stats {
	if s.identity != nil {
		return s.identity.stats
	}
	stats := s.own
	stats.Rating = t.opts.DefaultRating
	return stats
}

// Count adds to the counters of a session and its identity: a game when it
// makes its first move on a board, points when they are won. The rating of the
// identity, if there is one, changes by that of what.
func (s *Session) Count(what wamble.Stats) {
	count(&s.own, what, 1)
	if s.identity != nil {
		count(&s.identity.stats, what, 1)
		s.identity.stats.Rating += what.Rating
	}
}
