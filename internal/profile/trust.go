package profile

import (
	"wamble"
	"wamble/internal/intent"
)

// Trust sets the trust level of a session, or of all sessions of an identity, in memory or only in the
// store. Either Session or Key is zero.
type Trust struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	Level   int
}

func (in *Trust) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	p.sessions.SetTrust(in.Session, in.Key, in.Level)
	p.frame.Add(&intent.SetTrust{Session: in.Session, Key: in.Key, Level: in.Level, At: p.clock.now})
	if s := p.sessions.ByID(in.Session); s != nil {
		p.sealFor(s, out)
	} else {
		p.sealForKey(in.Key, out)
	}
	p.stats.Host.Trusted++
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
