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

func (in *Trust) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	p.sessions.SetTrust(in.Session, in.Key, in.Level)
	p.frame.Add(&intent.SetTrust{Session: in.Session, Key: in.Key, Level: in.Level, At: p.clock.now})
	p.sealFor(p.sessions.ByID(in.Session), out)
	p.noteTrust(in)
	out.StoreEvents = append(out.StoreEvents, StoreEvent{
		What: Trusted, Session: in.Session, Key: in.Key, Level: in.Level, At: in.At,
	})
	p.stats.Host.Trusted++
}

// noteTrust records the sessions whose trust the store does not have yet: its level for them is outdated until
// then.
func (p *Profile) noteTrust(in *Trust) {
	maps.DeleteFunc(p.pendingTrust, func(_ wamble.SessionID, t pendingTrust) bool {
		return t.durableIndex <= p.watermarks.stored
	})
	if p.pendingTrust == nil {
		p.pendingTrust = map[wamble.SessionID]pendingTrust{}
	}
	p.pendingTrust[in.Session] = pendingTrust{p.watermarks.newest, in.At}
	for _, s := range p.sessions.Of(in.Key) {
		p.pendingTrust[s.ID()] = pendingTrust{p.watermarks.newest, in.At}
	}
}

// pendingTrust is a trust command that the store may not have yet.
type pendingTrust struct {
	durableIndex uint64 // the store has it when it has this index
	at           time.Time
}

// outdated reports whether a change of trust is older than a command here.
func (p *Profile) outdated(c *StoreEvent) bool {
	if c.Stored {
		return p.watermarks.stored < p.pendingTrust[c.Session].durableIndex
	}
	if c.Session != 0 {
		return c.At.Before(p.pendingTrust[c.Session].at)
	}
	return slices.ContainsFunc(p.sessions.Of(c.Key),
		func(s *session.Session) bool { return c.At.Before(p.pendingTrust[s.ID()].at) })
}

// FindSession returns the session with a token or number, or else the key of the identity with a handle, if in
// memory.
func (p *Profile) FindSession(token wamble.Token, id wamble.SessionID,
	handle string) (wamble.SessionID, wamble.PublicKey) {
	s := p.sessions.ByID(id)
	if !token.IsZero() {
		s = p.sessions.Find(token)
	}
	if s != nil {
		return s.ID(), wamble.PublicKey{}
	}
	return 0, p.sessions.KeyOf(handle)
}

// KeyOwner returns the key of the identity that a key belongs to, zero if it is not in memory. The store
// may not have the merge of its player yet.
func (p *Profile) KeyOwner(key wamble.PublicKey) wamble.PublicKey {
	if is := p.playerOf(key); is != key || p.sessions.Identity(key) != nil {
		return is
	}
	return wamble.PublicKey{}
}
