package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/share"
)

// Session is the stay of one player in memory. It is memory of the table, valid until the next call of Due,
// Applied, Goodbye or Logout.
type Session struct {
	id         wamble.SessionID
	token      wamble.Token     // zero: restored, and not shown by a client since
	hash       wamble.TokenHash // of the token
	bound      *netip.Prefix    // the only host where the token is valid; nil: all
	identity   *Identity        // nil: anonymous
	games      Games            // as they were read, and begun here since, without an identity
	trust      int32
	times      times
	seq        uint64 // last journal message that concerned it
	lastBoard  wamble.BoardID
	terms      terms
	host       share.Host // where it was first heard from; 0: unknown
	share      share.Holding[Session]
	stream     bool       // it was last heard from over a connection
	watches    bool       // it wants no board
	signs      bool       // its client shows signs of life while the player thinks
	bot        bool       // a program plays
	stale      bool       // its facts were changed by others
	sawEnd     bool       // a game of the visit has ended
	visit      uint32     // its beginning, in seconds since 1970; 0: none
	greeting   *greeting  // while it is fresh
	pending    *challenge // nil: none
	list       *list      // the list that it is in
	prev, next *Session
}

// times are microseconds since 1970.
type times struct {
	created    int64
	lastSeen   int64 // last sign of life
	lastStored int64 // the last sign of life that is stored
}

func micros(t time.Time) int64  { return t.UnixMicro() }
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// ID returns the number of the session.
func (s *Session) ID() wamble.SessionID { return s.id }

// Token returns the secret of the session; zero if it was restored from the store, and no client has shown
// it since.
func (s *Session) Token() wamble.Token { return s.token }

// Bound reports whether the token is valid at one host only; see Table.BindToken.
func (s *Session) Bound() bool { return s.bound != nil }

// GoodAt reports whether the token is valid at an address.
func (s *Session) GoodAt(ip netip.Addr) bool {
	return !s.Bound() || s.bound.Contains(ip.Unmap().WithZone(""))
}

// Trust returns the trust level of the session in the store.
func (s *Session) Trust() int { return int(s.trust) }

// Identity returns the identity of the player, nil if they are anonymous.
func (s *Session) Identity() *Identity { return s.identity }

// Fresh reports whether the session has been silent since its hello.
func (s *Session) Fresh() bool { return s.greeting != nil }

// Hash returns the hash of the token.
func (s *Session) Hash() wamble.TokenHash { return s.hash }

// Created returns when the session was made.
func (s *Session) Created() time.Time { return timeOf(s.times.created) }

// Seen returns the time of the last sign of life.
func (s *Session) Seen() time.Time { return timeOf(s.times.lastSeen) }

// Stored returns the last sign of life that is stored.
func (s *Session) Stored() time.Time { return timeOf(s.times.lastStored) }

// Host returns the host of the session (see Table.Place), 0 if unknown.
func (s *Session) Host() share.Host { return s.host }

// Stream reports whether the session was last heard from over a connection; SetStream sets that.
func (s *Session) Stream() bool          { return s.stream }
func (s *Session) SetStream(stream bool) { s.stream = stream }

// Watches reports whether the player has asked for no board; SetWatches sets that.
func (s *Session) Watches() bool           { return s.watches }
func (s *Session) SetWatches(watches bool) { s.watches = watches }

// Signs reports whether the client shows signs of life while its player thinks; SetSigns sets that.
func (s *Session) Signs() bool { return s.signs }
func (s *Session) SetSigns()   { s.signs = true }

// Bot reports whether the player is a program, by its own account.
func (s *Session) Bot() bool { return s.bot }

// SetBot says that the player is a program, permanently.
func (s *Session) SetBot() {
	if s.list != nil && !s.bot {
		s.list.bots++
	}
	s.bot = true
}

// LastBoard returns the board that the player left last, 0 if none.
func (s *Session) LastBoard() wamble.BoardID { return s.lastBoard }

// SetLastBoard sets the board that the player left last.
func (s *Session) SetLastBoard(b wamble.BoardID) { s.lastBoard = b }

// Games is how many boards a player has moved on, and how many of them are of Chess960.
type Games struct{ All, Chess960 int32 }

func gamesOf(s wamble.Stats) Games { return Games{int32(s.Games), int32(s.Chess960Games)} }

func (g Games) stats() wamble.Stats {
	return wamble.Stats{Games: int(g.All), Chess960Games: int(g.Chess960)}
}

// Games returns the games of the player as they were read from the store, and those begun here since.
func (s *Session) Games() Games { return *s.counted() }

func (s *Session) counted() *Games {
	if s.identity != nil {
		return &s.identity.games
	}
	return &s.games
}

// BeginGame counts a game at the player's first move on a board.
func (s *Session) BeginGame(chess960 bool) {
	g := s.counted()
	g.All++
	if chess960 {
		g.Chess960++
	}
}

// Rating returns the rating of the player, the default one if they are anonymous.
func (t *Table) Rating(s *Session) float64 {
	if s.identity == nil {
		return t.opts.DefaultRating
	}
	return s.identity.rating
}

// Rate changes the rating of the identity of a session, or else of a key, if it is in memory.
func (t *Table) Rate(id wamble.SessionID, key wamble.PublicKey, change float64) {
	i := t.identities[key]
	if s := t.byID[id]; s != nil {
		i = s.identity
	}
	if i != nil {
		i.rating += change
	}
}
