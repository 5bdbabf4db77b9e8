package profile

import (
	"net/netip"

	"wamble"
	"wamble/internal/policy"
	"wamble/internal/session"
)

// Reader is who wants to read without packets: over HTTP.
type Reader struct {
	// Token is that of his session. If that is not in memory he is a guest, as he
	// is without one.
	Token wamble.Token
	From  netip.Addr
	// About is the player whose stats he wants, nil for anything else.
	About *wamble.Player
}

// Right is something that the policy can allow or deny.
type Right struct {
	Action, Resource string
	Key, Value       string // context; an empty key is none
}

// Admits returns why a reader may not do something, nil if he may. It goes
// through the doors that a request goes through: bans, policy, terms.
func (p *Profile) Admits(r Reader, rights []Right) *wamble.Denied {
	l := &p.mode.law
	if d := l.bans.of(p.clock.now, r.From, r.Token); d != nil {
		return d
	}
	s := p.sessions.Find(r.Token)
	if s != nil && s.Identity() != nil {
		if d := l.bans.ofKey(p.clock.now, s.Identity().Key()); d != nil {
			return d
		}
	}
	for i := range rights {
		if !p.grants(s, &r, &rights[i]) {
			return errDenied
		}
		if rights[i].Action == "protocol.ctrl" && !p.hasAgreed(s, rights[i].Resource) {
			return errTerms
		}
	}
	return nil
}

// grants asks the policy about one right, as the handler of its request does.
func (p *Profile) grants(s *session.Session, r *Reader, right *Right) bool {
	switch {
	case right.Action == "stats.read" && r.About != nil:
		return p.mayReadStats(s, policy.Who{ID: r.About.ID, Key: r.About.Key})
	case right.Action == "spectate.access" && p.tier(s, &p.mode.law.own) < p.cfg.Spectators.Visibility:
		return false
	}
	return p.decide(s, right.Action, right.Resource, right.Key, right.Value).Allowed
}

// hasAgreed reports whether the terms do not stand in the way of a request.
func (p *Profile) hasAgreed(s *session.Session, request string) bool {
	t := &p.mode.law.own.terms
	if t.text == "" || !needsTerms(request) {
		return true
	}
	if s == nil {
		return false
	}
	accepted, known := s.Terms(t.revision)
	return accepted && known
}

func needsTerms(request string) bool {
	for i := range routes {
		if requestNames[routes[i].ctrl] == request {
			return routes[i].terms
		}
	}
	return false
}
