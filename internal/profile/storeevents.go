package profile

import (
	"slices"
	"time"

	"wamble"
	"wamble/internal/session"
)

// Profiles that share a store share its sessions and identities. A change to these is in Output.StoreEvents of the
// profile that decides it. Once it is durable the other profiles get it as the input StoreEvents: they change
// their memory, and only the first writes it to the store.

// StoreEvents is changes that another profile of the same store has decided.
type StoreEvents struct{ Changes []StoreEvent }

// StoreEvent is one change. Key is the identity that it concerns, zero if there is none or it is unknown.
type StoreEvent struct {
	What    EventKind
	Session wamble.SessionID `json:",omitempty"`
	Token   wamble.Token     `json:",omitzero"` // of the session, before the change
	Key     wamble.PublicKey `json:",omitzero"`
	Points  float64          `json:",omitempty"` // Won
	Rating  float64          `json:",omitempty"` // Won: change of the rating
	Level   int              `json:",omitempty"`
	Others  bool             `json:",omitempty"`
	Name    string           `json:",omitempty"`
	Stored  bool             `json:",omitempty"` // Trusted: read from the store, which may be behind
	At      time.Time        `json:",omitzero"`  // Trusted: time of the command
	Link    *Linked          `json:",omitempty"`
	Merge   *Merge           `json:",omitempty"`
	// Board and Profile are the game of Won, if the profile has shards: the player may be in another
	// one.
	Board   wamble.BoardID `json:",omitempty"`
	Profile string         `json:",omitempty"`
	// Moved is the wall time of the player's last move in the game, if another shard has ended it.
	Moved time.Time `json:",omitzero"`
	// Stamp is the message that brings the change to the store. A reader of the store sees by it whether
	// the change is included already.
	Stamp Stamp `json:",omitzero"`
	// Player is the number of the identity that was Erased, 0 if unknown: a new identity may have the key
	// by now.
	Player wamble.PlayerID `json:",omitempty"`
	// Hashed says that Token is the hash of a token, and that of Link, too: a change that is stored for
	// other machines has no token.
	Hashed bool `json:",omitempty"`
}

// WithoutTokens returns the changes with hashes in the place of tokens.
func (in *StoreEvents) WithoutTokens() *StoreEvents {
	list := slices.Clone(in.Changes)
	for i := range list {
		c := &list[i]
		c.Token, c.Hashed = wamble.Token(c.tokenHash()), true
		if c.Link != nil {
			linked := *c.Link
			linked.Token = wamble.Token(linked.Session.Token)
			c.Link = &linked
		}
	}
	return &StoreEvents{list}
}

// tokenHash returns the hash of Token; zero if that is zero.
func (c *StoreEvent) tokenHash() wamble.TokenHash {
	if c.Hashed || c.Token.IsZero() {
		return wamble.TokenHash(c.Token)
	}
	return c.Token.Hash()
}

// Concerns reports whether the session had a token before the change or has it since. Hash is that of the
// token.
func (c *StoreEvent) Concerns(token wamble.Token, hash wamble.TokenHash) bool {
	if c.Hashed {
		token = wamble.Token(hash)
	}
	return !token.IsZero() && (c.Token == token || c.Link != nil && c.Link.Token == token)
}

// Linked is a session and its identity, both after a login.
type Linked struct {
	Session wamble.Session
	Token   wamble.Token // of the session
	Player  wamble.Player
}

// EventKind is the kind of a change.
type EventKind uint8

// The closed list of kinds.
const (
	// LoggedOut: Session of Key has ended. Its Token is refused.
	LoggedOut EventKind = iota
	// LoggedIn: the Session in Link belongs to its Player.
	LoggedIn
	// Won: Session has won Points, or has only Moved, in a game that has ended, which changes the rating of
	// Key. The totals are the store's.
	Won
	// Trusted: Session, or all sessions of Key, have trust Level.
	Trusted
	// Erased: the identity Player of Key is deleted, and its sessions have ended.
	Erased
	// Revoked: Session of Key has ended, or with Others all other sessions of Key.
	Revoked
	// Renamed: the identity of Key has the handle Name.
	Renamed
	// Merged: Merge says which identity has Key from now on.
	Merged
)

// Urgent reports whether a change takes rights away or changes an identity. A profile without the change
// would let in a player who has lost the right, so no player is answered before all other profiles have it.
func (w EventKind) Urgent() bool {
	switch w {
	case LoggedOut, Erased, Revoked, Renamed, Merged:
		return true
	}
	return false
}

func (in *StoreEvents) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	for i := range in.Changes {
		c := &in.Changes[i]
		switch c.What {
		case LoggedOut:
			p.applyRemoteLogout(c, out)
		case LoggedIn:
			p.applyRemoteLogin(c)
		case Won:
			p.applyWin(c, out)
		case Trusted:
			if !p.outdated(c) {
				p.sessions.SetTrust(c.Session, c.Key, c.Level)
			}
		case Renamed:
			p.sessions.Rename(c.Key, c.Name, p.clock.wall())
		case Revoked:
			p.applyRemoteRevocation(c, out)
		case Merged:
			p.merge(c.Merge, out)
		case Erased:
			if p.isAnother(c.Key, c.Player) {
				continue
			}
			p.forgetMerged(c.Key)
			for _, s := range p.sessions.Of(c.Key) {
				p.endSession(s, "your data was deleted", out)
			}
			p.sessions.Forget(p.clock.now, c.Key)
		}
	}
}

func (p *Profile) applyWin(c *StoreEvent, out *Output) {
	p.sessions.Rate(c.Session, c.Key, c.Rating)
	s := p.sessions.ByID(c.Session)
	if s == nil || c.Profile != p.cfg.Name {
		return
	}
	if c.Board != 0 && c.Points != 0 && p.isActive(s) {
		p.award(s, c.Board, c.Points, out)
	}
	if !c.Moved.IsZero() {
		s.SeeEnd(shift(c.Moved, -p.clock.ahead))
	}
}

// applyMissed applies what other machines sent before the answer, and the store did not have.
func (in *Loaded) applyMissed(p *Profile, out *Output) {
	if in == nil {
		return
	}
	for i := range in.Missed {
		if in.Missed[i].What != Won {
			(&StoreEvents{Changes: in.Missed[i : i+1]}).apply(p, out)
		}
	}
}

func (p *Profile) applyRemoteLogout(c *StoreEvent, out *Output) {
	token := p.tokenBefore(c)
	if s := p.sessions.ByID(c.Session); s != nil {
		p.endSession(s, "you have logged out", out)
		p.sessions.LoggedOut(p.clock.now, s)
	}
	p.voidToken(c, token)
}

// tokenBefore returns the token that the session had before a change; zero if only its hash is known.
func (p *Profile) tokenBefore(c *StoreEvent) wamble.Token {
	if !c.Hashed {
		return c.Token
	}
	if s := p.sessions.ByID(c.Session); s != nil && s.Hash() == c.tokenHash() {
		return s.Token()
	}
	return wamble.Token{}
}

// voidToken refuses the token that the session of a change had before, unless the session has it still.
func (p *Profile) voidToken(c *StoreEvent, token wamble.Token) {
	hash := c.tokenHash()
	if s := p.sessions.ByID(c.Session); hash.IsZero() || s != nil && s.Hash() == hash {
		return
	}
	p.sessions.RefuseHash(hash)
	if !token.IsZero() {
		p.link.Purge(token, wamble.Peer{})
	}
}

func (p *Profile) applyRemoteLogin(c *StoreEvent) {
	before, token := p.tokenBefore(c), c.Link.Token
	if c.Hashed {
		token = wamble.Token{}
	}
	s := p.sessions.Linked(&c.Link.Session, token, &c.Link.Player)
	if s != nil {
		p.boards.Identify(s.ID(), true)
	}
	switch {
	case s == nil:
	case s.Token().IsZero(): // until the client shows the new token, and asks again to watch
		p.audience.spectators.Leave(s.ID())
	default:
		p.audience.spectators.Rename(s.ID(), s.Token())
	}
	if c.Token != c.Link.Token {
		p.voidToken(c, before)
	}
}

// publishLogin adds a login to the events. Before is the token that the session had.
func (p *Profile) publishLogin(s *session.Session, before wamble.Token, out *Output) {
	i := s.Identity()
	out.StoreEvents = append(out.StoreEvents, StoreEvent{What: LoggedIn, Session: s.ID(), Token: before, Key: i.Key(),
		Link: &Linked{
			Session: wamble.Session{ID: s.ID(), Token: s.Hash(), Host: s.HostText()}, Token: s.Token(),
			Player: wamble.Player{ID: i.ID(), Key: i.Key(), Handle: i.Handle(), Stats: wamble.Stats{Rating: i.Rating()}},
		}})
}

// Pending returns the durable index that the store must have before another profile reads the store about a token or a
// key: 0 if it may read at once.
func (p *Profile) Pending(token wamble.Token, key wamble.PublicKey) uint64 {
	if p.unstored.any() || p.unstored.shared {
		return resumeIndex
	}
	return min(p.sessions.Pending(token, key), p.watermarks.newest)
}

// Stored returns the durable index up to which the store has everything, and the newest durable index.
func (p *Profile) Stored() (stored, newest uint64) { return p.watermarks.stored, p.watermarks.newest }
