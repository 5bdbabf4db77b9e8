package profile

import (
	"maps"
	"slices"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/session"
)

// Trust sets the trust level of a session, or of all sessions of an identity, in memory or only in the
// store. Either Session or Key is zero.
type Trust struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	Level   int
	At      time.Time `json:",omitzero"` // time of the command, the same for all profiles that get it
}

func (in *Trust) take(p *Profile, out *Output) {
	if !p.deletes(out) {
		return
	}
	p.sessions.SetTrust(in.Session, in.Key, in.Level)
	p.draft.Add(&intent.SetTrust{Session: in.Session, Key: in.Key, Level: in.Level, At: p.clock.now})
	p.sealFor(p.sessions.ByID(in.Session), out)
	p.trusts(in)
	out.News = append(out.News, Change{What: Trusted, Session: in.Session, Key: in.Key, Level: in.Level, At: in.At})
	p.stats.Host.Trusted++
}

// trusts records the sessions whose trust the store does not have yet: its level for them is outdated until
// then.
func (p *Profile) trusts(in *Trust) {
	maps.DeleteFunc(p.trusted, func(_ wamble.SessionID, t trusted) bool { return t.gate <= p.gates.settled })
	if p.trusted == nil {
		p.trusted = map[wamble.SessionID]trusted{}
	}
	p.trusted[in.Session] = trusted{p.gates.last, in.At}
	for _, s := range p.sessions.Of(in.Key) {
		p.trusted[s.ID()] = trusted{p.gates.last, in.At}
	}
}

// trusted is a trust command that the store may not have yet.
type trusted struct {
	gate uint64 // settled once the store has it
	at   time.Time
}

// outdated reports whether a change of trust is older than a command here.
func (p *Profile) outdated(c *Change) bool {
	if c.Stored {
		return p.gates.settled < p.trusted[c.Session].gate
	}
	if c.Session != 0 {
		return c.At.Before(p.trusted[c.Session].at)
	}
	return slices.ContainsFunc(p.sessions.Of(c.Key), func(s *session.Session) bool { return c.At.Before(p.trusted[s.ID()].at) })
}

// Who returns the session with a token or number, or else the key of the identity with a handle, if in
// memory.
func (p *Profile) Who(token wamble.Token, id wamble.SessionID, handle string) (wamble.SessionID, wamble.PublicKey) {
	s := p.sessions.ByID(id)
	if !token.IsZero() {
		s = p.sessions.Find(token)
	}
	if s != nil {
		return s.ID(), wamble.PublicKey{}
	}
	return 0, p.sessions.KeyOf(handle)
}

// WhoseKey returns the key of the identity that a key belongs to, zero if it is not in memory. The store
// may not have the merge of its player yet.
func (p *Profile) WhoseKey(key wamble.PublicKey) wamble.PublicKey {
	if is := p.playerOf(key); is != key || p.sessions.Identity(key) != nil {
		return is
	}
	return wamble.PublicKey{}
}
