package profile

import (
	"slices"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/session"
)

// Profiles that share a store share its sessions and identities. A profile that changes facts about people says in
// Output.StoreEvents whose facts are stale, without the facts: these are read from the store. Once the change is
// durable, the other profiles get it as the input StoreEvents, and read again what they have of it in memory.

// StoreEvents is changes that another profile of the same store has decided.
type StoreEvents struct{ Changes []StoreEvent }

// StoreEvent says that the facts of Session, and of Key and Merged with all of their sessions, are stale; or with
// What == Won, what a game has paid.
type StoreEvent struct {
	What    EventKind
	Session wamble.SessionID `json:",omitempty"` // 0 for none
	Key     wamble.PublicKey `json:",omitzero"`  // zero for none
	Merged  wamble.PublicKey `json:",omitzero"`  // a key that is Key's now
	Urgent  bool             `json:",omitempty"` // as intent.Touched
	// Points and Rating are what Session has won in a game, and by what the rating of Key has changed. The
	// totals are the store's.
	Points float64 `json:",omitempty"`
	Rating float64 `json:",omitempty"`
	// Board and Profile are the game, if the profile has shards: the player may be in another one.
	Board   wamble.BoardID `json:",omitempty"`
	Profile string         `json:",omitempty"`
	// Moved is the wall time of the player's last move in the game, if another shard has ended it.
	Moved time.Time `json:",omitzero"`
	// Stamp is the message that brings the change to the store: the store must have it before it is read.
	Stamp Stamp `json:",omitzero"`
}

// EventKind is the kind of an event. Other numbers are those of releases that sent facts: they count as Stale.
type EventKind uint8

// The closed list of kinds.
const (
	Won   EventKind = 2
	Stale EventKind = 8
)

// staleBy returns the event for an intent, and whether it changes facts of people that it names. An intent
// that names nobody, as PurgeSessions, has no event.
func staleBy(in intent.Intent) (StoreEvent, bool) {
	t := in.Kind().Row().Touches(in)
	c := StoreEvent{What: Stale, Session: t.Session, Merged: t.Keys[0], Key: t.Keys[1], Urgent: t.Urgent}
	if c.Key.IsZero() {
		c.Key, c.Merged = c.Merged, c.Key
	}
	return c, c.Session != 0 || !c.Key.IsZero()
}

func (in *StoreEvents) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	for i := range in.Changes {
		c := &in.Changes[i]
		if c.What == Won {
			p.applyWin(c, out)
			continue
		}
		if !c.Merged.IsZero() {
			told := len(p.frame.stale)
			p.mergeKeys(c.Merged, c.Key, out)
			p.frame.stale = p.frame.stale[:told] // who has decided it tells everybody
		}
		for _, s := range p.sessions.MarkStale(c.Session, [2]wamble.PublicKey{c.Key, c.Merged}) {
			p.refresh(s, out)
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

// askFacts returns the load that refreshes a stale session.
func (p *Profile) askFacts(s *session.Session) Load {
	what := Load{Subject: SessionOf, Token: s.Token(), Session: s.ID()}
	if own := &p.policy.Own; own.Terms.Text != "" {
		what.Profile, what.Hash = own.Name, own.Terms.Hash
	}
	return what
}

// refresh asks the store for the facts of a stale session, unless it cannot be asked now, or a request of the
// session waits for it: then the next use of the session asks.
func (p *Profile) refresh(s *session.Session, out *Output) {
	if p.storeAway || p.stage != running || len(p.loads.byID) >= p.loads.max || p.loads.byToken[s.Token()] != nil {
		return
	}
	p.startLoad(p.askFacts(s), requester{}, out)
}

// refreshed applies the store's answer about a stale session. The session stays stale if something was decided
// about it since the question.
func (p *Profile) refreshed(s *session.Session, l *load, in *Loaded, out *Output) {
	row := in.Session
	switch {
	case s.Seq() > l.newest:
		return
	case row == nil, row.Token.IsZero() && row.Key.IsZero() && s.Identity() != nil:
		p.end(s, "your data was deleted", out)
	case row.Token.IsZero():
		p.end(s, "this session was ended from another one of yours", out)
	case row.Token != s.Hash() && row.Key.IsZero():
		p.end(s, "you have logged out", out)
	default:
		token := s.Token()
		p.sessions.Refresh(s, row, in.Answer.player())
		p.boards.Identify(s.ID(), s.Identity() != nil)
		if s.Token().IsZero() && !token.IsZero() { // until the client shows the new one, and asks again to watch
			p.audience.spectators.Leave(s.ID())
			p.link.Purge(token, wamble.Peer{})
		}
	}
}

// end ends a session that is over in the store.
func (p *Profile) end(s *session.Session, why string, out *Output) {
	p.endSession(s, why, out)
	p.sessions.Kick(p.clock.now, s)
}

// takeStale adds the events of the intents of this step.
func (p *Profile) takeStale(out *Output) {
	for _, c := range p.frame.stale {
		same := func(other StoreEvent) bool {
			return other.What == Stale && other.Session == c.Session && other.Key == c.Key && other.Urgent == c.Urgent
		}
		if !slices.ContainsFunc(out.StoreEvents, same) {
			out.StoreEvents = append(out.StoreEvents, c)
		}
	}
	p.frame.stale = p.frame.stale[:0]
}

// Pending returns the durable index that the store must have before another profile reads the store about a token or a
// key: 0 if it may read at once.
func (p *Profile) Pending(token wamble.Token, key wamble.PublicKey) uint64 {
	if p.unstored.any() || p.unstored.shared {
		return p.watermarks.resumed
	}
	return min(p.sessions.Pending(token, key), p.watermarks.newest)
}

// Stored returns the durable index up to which the store has everything, and the newest durable index.
func (p *Profile) Stored() (stored, newest uint64) { return p.watermarks.stored, p.watermarks.newest }
