package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/share"
)

// Session is the stay of one player in memory. It is the table's own memory:
// do not keep it beyond the next call of Due, Applied, Goodbye or Logout.
type Session struct {
	id         wamble.SessionID
	token      wamble.Token     // zero: nobody has shown it since it was restored
	hash       wamble.TokenHash // of the token
	bound      *netip.Prefix    // where alone the token is good; nil: everywhere
	identity   *Identity        // nil: anonymous
	own        wamble.Stats     // of this session alone, without a rating
	trust      int32
	times      times
	seq        uint64 // of the last journal message that concerned it
	left       wamble.BoardID
	terms      terms
	host       share.Host // where it was first heard of; 0: not known
	share      share.Holding[Session]
	stream     bool       // it was heard last over a connection
	watches    bool       // it wants no board
	signs      bool       // its client shows signs of life while the player thinks
	bot        bool       // a program plays
	sawEnd     bool       // a game of his visit has ended
	visit      uint32     // when it began, in seconds since 1970; 0: there is none
	greeting   *greeting  // while it is fresh
	pending    *challenge // nil: none
	list       *list      // which has it between prev and next
	prev, next *Session
}

// times are microseconds since 1970.
type times struct {
	created int64
	heard   int64 // last sign of life
	noted   int64 // the last sign of life that was stored
}

func micros(t time.Time) int64  { return t.UnixMicro() }
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// ID returns the number of the session.
func (s *Session) ID() wamble.SessionID { return s.id }

// Token returns the secret of the session; zero if it was restored from the store,
// and its player was not heard since.
func (s *Session) Token() wamble.Token { return s.token }

// Bound reports whether the token is good at one host alone; see Table.BindToken.
func (s *Session) Bound() bool { return s.bound != nil }

// GoodAt reports whether the token is good at an address.
func (s *Session) GoodAt(ip netip.Addr) bool {
	return !s.Bound() || s.bound.Contains(ip.Unmap().WithZone(""))
}

// Trust returns the trust level that the host gave the session.
func (s *Session) Trust() int { return int(s.trust) }

// Identity returns the identity of the player, nil if he is anonymous.
func (s *Session) Identity() *Identity { return s.identity }

// Fresh reports whether nobody was heard since the first hello.
func (s *Session) Fresh() bool { return s.greeting != nil }

// Hash returns the hash of the token.
func (s *Session) Hash() wamble.TokenHash { return s.hash }

// Created returns when the session was made.
func (s *Session) Created() time.Time { return timeOf(s.times.created) }

// Seen returns the time of the last sign of life.
func (s *Session) Seen() time.Time { return timeOf(s.times.heard) }

// Host returns the host of the session (see Table.Place), 0 if that
// is not known.
func (s *Session) Host() share.Host { return s.host }

// Stream reports whether the session was heard last over a connection, SetStream says so.
func (s *Session) Stream() bool          { return s.stream }
func (s *Session) SetStream(stream bool) { s.stream = stream }

// Watches reports whether the player has said that he wants no board, SetWatches says so.
func (s *Session) Watches() bool           { return s.watches }
func (s *Session) SetWatches(watches bool) { s.watches = watches }

// Signs reports whether the client shows signs of life while its player thinks, SetSigns
// says so.
func (s *Session) Signs() bool { return s.signs }
func (s *Session) SetSigns()   { s.signs = true }

// Bot reports whether the session has said that a program plays.
func (s *Session) Bot() bool { return s.bot }

// SetBot says that a program plays, for good.
func (s *Session) SetBot() {
	if s.list != nil && !s.bot {
		s.list.bots++
	}
	s.bot = true
}

// Left returns the board that the player left last, 0 if there is none.
func (s *Session) Left() wamble.BoardID { return s.left }

// SetLeft sets the board that the player left last.
func (s *Session) SetLeft(b wamble.BoardID) { s.left = b }

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
// makes its first move on a board, points when they are won. what.Rating is the
// change of the identity's rating, if there is an identity.
func (s *Session) Count(what wamble.Stats) {
	count(&s.own, what, 1)
	if s.identity != nil {
		count(&s.identity.stats, what, 1)
		s.identity.stats.Rating += what.Rating
	}
}
