package profile

import (
	"maps"

	"wamble"
	"wamble/internal/intent"
)

// Trust sets the trust level of a session, or of all sessions of an identity, which
// may be in memory or only in the store: one of Session and Key is zero.
type Trust struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
	Level   int
}

func (in *Trust) take(p *Profile, out *Output) {
	if !p.deletes(out) {
		return
	}
	p.sessions.SetTrust(in.Session, in.Key, in.Level)
	p.draft.Add(&intent.SetTrust{Session: in.Session, Key: in.Key, Level: in.Level, At: p.clock.now})
	p.sealFor(p.sessions.ByID(in.Session), out)
	p.trusts(in)
	out.News = append(out.News, Change{What: Trusted, Session: in.Session, Key: in.Key, Level: in.Level})
	p.stats.Host.Trusted++
}

// trusts notes whose trust the store does not know yet: what it says of them until
// then is older.
func (p *Profile) trusts(in *Trust) {
	maps.DeleteFunc(p.trusted, func(_ wamble.SessionID, gate uint64) bool { return gate <= p.gates.settled })
	if p.trusted == nil {
		p.trusted = map[wamble.SessionID]uint64{}
	}
	p.trusted[in.Session] = p.gates.last
	for _, s := range p.sessions.Of(in.Key) {
		p.trusted[s.ID()] = p.gates.last
	}
}

// Who returns the session of a token or a number, or the key of an identity with a
// handle, if they are in memory.
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
