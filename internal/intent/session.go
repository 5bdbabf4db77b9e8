package intent

import (
	"time"

	"wamble"
)

// CreateSession adds a session, anonymous unless Player is set.
type CreateSession struct {
	Session wamble.SessionID
	Token   wamble.TokenHash
	Player  wamble.PlayerID
	At      time.Time
}

func (*CreateSession) Kind() Kind { return KindCreateSession }

func (in *CreateSession) code(c coder) coder {
	return c.session(&in.Session).bytes(in.Token[:]).player(&in.Player).time(&in.At).hashed(&in.Token)
}

func (in *CreateSession) check(c checker) checker {
	return c.session(in.Session).that(!in.Token.IsZero(), "the token is zero").number(in.Player >= 0, "player",
		int64(in.Player)).at(in.At)
}

// LinkSession gives a session an identity. The player is found by Key, or else created with the number,
// handle and rating given here.
type LinkSession struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	Player  wamble.PlayerID
	Handle  string // see wamble.IsName
	Rating  float64
	At      time.Time
}

func (*LinkSession) Kind() Kind { return KindLinkSession }

func (in *LinkSession) code(c coder) coder {
	return c.session(&in.Session).bytes(in.Key[:]).player(&in.Player).text(&in.Handle).float(&in.Rating).time(&in.At)
}

func (in *LinkSession) check(c checker) checker {
	return c.session(in.Session).key(in.Key).number(in.Player > 0, "player",
		int64(in.Player)).handle(in.Handle).decimal("rating", in.Rating).at(in.At)
}

// UnlinkSession makes a session anonymous again.
type UnlinkSession struct {
	Session wamble.SessionID
	At      time.Time
}

func (*UnlinkSession) Kind() Kind { return KindUnlinkSession }

func (in *UnlinkSession) code(c coder) coder      { return c.session(&in.Session).time(&in.At) }
func (in *UnlinkSession) check(c checker) checker { return c.session(in.Session).at(in.At) }

// MarkBot marks a session as a program's, permanently, and every identity that it has or gets.
type MarkBot struct {
	Session wamble.SessionID
	At      time.Time
}

func (*MarkBot) Kind() Kind { return KindMarkBot }

func (in *MarkBot) code(c coder) coder      { return c.session(&in.Session).time(&in.At) }
func (in *MarkBot) check(c checker) checker { return c.session(in.Session).at(in.At) }

// RenewToken sets the token of a session, and the only host where the token is valid: a netip.Prefix as
// text, "" for all.
type RenewToken struct {
	Session wamble.SessionID
	Token   wamble.TokenHash
	Host    string
	At      time.Time
}

func (*RenewToken) Kind() Kind { return KindRenewToken }

func (in *RenewToken) code(c coder) coder {
	return c.session(&in.Session).bytes(in.Token[:]).text(&in.Host).time(&in.At).hashed(&in.Token)
}

func (in *RenewToken) check(c checker) checker {
	return c.session(in.Session).that(!in.Token.IsZero(), "the token is zero").text("host", in.Host, 0,
		maxHost).at(in.At)
}

// SetTrust sets the trust level of a session, or of all sessions of an identity: either Session or Key is
// zero.
type SetTrust struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	Level   int
	At      time.Time
}

func (*SetTrust) Kind() Kind { return KindSetTrust }

func (in *SetTrust) code(c coder) coder {
	return c.session(&in.Session).bytes(in.Key[:]).small(&in.Level).time(&in.At)
}

func (in *SetTrust) check(c checker) checker {
	return c.that((in.Session > 0) != !in.Key.IsZero(), "either a session or a key is given").number(in.Level >= 0,
		"trust level", int64(in.Level)).at(in.At)
}

// RevokeSessions voids the token of a session of a key, or with Others the tokens of all other sessions of
// the key; without a key that of a guest. Tokens newer than At stay. The sessions stay, with what they have
// won.
type RevokeSessions struct {
	Session wamble.SessionID // 0 with Others: all sessions
	Key     wamble.PublicKey // zero: a guest's session
	Others  bool
	At      time.Time
}

func (*RevokeSessions) Kind() Kind { return KindRevokeSessions }

func (in *RevokeSessions) code(c coder) coder {
	return c.session(&in.Session).bytes(in.Key[:]).bool(&in.Others).time(&in.At)
}

func (in *RevokeSessions) check(c checker) checker {
	return c.that(!in.Key.IsZero() || !in.Others, "the others of nobody").number(in.Session > 0 || in.Others &&
		in.Session == 0, "session", int64(in.Session)).at(in.At)
}

// UpdateSessionLastSeen sets when a session was last heard from. It is droppable: no answer waits for it.
type UpdateSessionLastSeen struct {
	Session wamble.SessionID
	At      time.Time
}

func (*UpdateSessionLastSeen) Kind() Kind { return KindUpdateSessionLastSeen }

func (in *UpdateSessionLastSeen) code(c coder) coder      { return c.session(&in.Session).time(&in.At) }
func (in *UpdateSessionLastSeen) check(c checker) checker { return c.session(in.Session).at(in.At) }

func (in *UpdateSessionLastSeen) locality() (major, minor uint64) { return uint64(in.Session), 0 }

// PurgeSessions deletes the anonymous sessions that were last seen before Before, with their predictions
// and shown moves. Those that have moved keep their row, because games name them, but lose their token.
// Those that hold a board stay.
type PurgeSessions struct {
	Before time.Time
	At     time.Time
}

func (*PurgeSessions) Kind() Kind { return KindPurgeSessions }

func (in *PurgeSessions) code(c coder) coder      { return c.time(&in.Before).time(&in.At) }
func (in *PurgeSessions) check(c checker) checker { return c.at(in.At).at(in.Before) }
