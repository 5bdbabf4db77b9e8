package profile

import (
	"net/netip"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/session"
	"wamble/wire"
)

// Target selects one session, all sessions of one identity, or all sessions from one network. Exactly one
// field is set.
type Target struct {
	Token wamble.TokenHash
	Key   wamble.PublicKey
	Net   netip.Prefix // a single address is a prefix of its whole length
}

// IsZero reports whether no field is set.
func (w Target) IsZero() bool { return w == Target{} }

// Kick ends sessions, tells their players why (Text is cut to wire.TextLimit bytes), and frees their
// boards. The players may come back: guests with a new
// session, others by their login.
type Kick struct {
	Whom Target
	Text string
}

func (in *Kick) apply(p *Profile, out *Output) {
	if p.stage == failed {
		return
	}
	text := "the host has ended your session"
	if in.Text != "" {
		text += ": " + in.Text
	}
	for _, s := range p.sessionsOf(in.Whom) {
		p.endSession(s, text, out)
		p.sessions.Kick(p.clock.now, s)
		p.stats.Host.Kicked++
	}
}

// endSession tells a player why the session ends, and frees its board. Earlier packets are not repeated any more.
func (p *Profile) endSession(s *session.Session, why string, out *Output) {
	p.link.Silence(s.Token())
	p.notify(s.Token(), 0, wire.ServerNotification{
		Type: wire.NoticeSessionExpired, Text: wire.Text(wire.Limit(why, wire.TextLimit)),
	}, out)
	p.boards.Release(p.clock.now, s.ID(), &p.frame)
	p.sealFor(s, out)
	p.audience.spectators.Leave(s.ID())
}

// sessionsOf returns the sessions in memory that w selects.
func (p *Profile) sessionsOf(w Target) []*session.Session {
	var found []*session.Session
	switch {
	case !w.Token.IsZero():
		if s := p.sessions.ByHash(w.Token); s != nil {
			found = append(found, s)
		}
	case !w.Key.IsZero():
		found = p.sessions.Of(w.Key)
	case w.Net.IsValid():
		network := access.Network(w.Net)
		for s := range p.sessions.All() {
			if p.link.At(s.Token(), network) {
				found = append(found, s)
			}
		}
	}
	return found
}
