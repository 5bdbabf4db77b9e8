package profile

import (
	"net/netip"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/session"
)

// Reader describes a reader over HTTP.
type Reader struct {
	// Token is that of the reader's session. Without a token, or if its session is not known or the token not
	// valid at From, the reader is a guest.
	Token wamble.Token
	From  netip.Addr
	// Stored is the session as the store has it, used if it is not in memory; without an ID it is a guest's, nil
	// if the store was not asked.
	Stored *wamble.Session
	// About is the player whose stats are wanted; nil for other data.
	About *wamble.Player
}

// Knows reports whether the session of a token is in memory.
func (p *Profile) Knows(t wamble.Token) bool { return p.sessions.Find(t) != nil }

// Authorize returns why a reader may not use rights, or nil. It makes the checks of a request: bans, policy
// and terms.
func (p *Profile) Authorize(r Reader, rights []access.Right) *wamble.Denied {
	if d := p.policy.Bans.Of(p.clock.wall(), r.From, r.Token); d != nil {
		return d
	}
	s := p.sessions.Find(r.Token)
	if s != nil && !s.GoodAt(r.From) {
		s = nil
	}
	who, trust := whoOf(s), trustOf(s)
	if r.Stored != nil && !p.Knows(r.Token) {
		who, trust = access.Who{ID: r.Stored.Player, Key: r.Stored.Key}, r.Stored.Trust
	}
	if d := p.policy.Bans.OfKey(p.clock.wall(), who.Key); d != nil {
		return d
	}
	for i := range rights {
		if !p.grants(who, trust, r.About, &rights[i]) {
			return access.ErrDenied
		}
		if rights[i].Action == "protocol.ctrl" && !p.hasAgreed(s, rights[i].Resource) {
			return access.ErrTerms
		}
	}
	return nil
}

// grants asks the policy about one right, as the handler of the request does.
func (ru *rules) grants(who access.Who, trust int, about *wamble.Player, right *access.Right) bool {
	now := ru.clock.wall()
	tier := func() int { return ru.policy.Tier(now, who, trust, &ru.policy.Own) }
	switch {
	case right.Action == "stats.read" && about != nil:
		return ru.policy.MayReadStats(now, who, access.Who{ID: about.ID, Key: about.Key})
	case right.Action == "spectate.access" && tier() < ru.cfg.Spectators.Visibility:
		return false
	}
	return ru.policy.Decide(now, who, *right).Allowed
}

// hasAgreed reports whether a request needs no acceptance of the terms, or the
// session has accepted them.
func (ru *rules) hasAgreed(s *session.Session, request string) bool {
	t := &ru.policy.Own.Terms
	if t.Text == "" || !needsTerms(request) {
		return true
	}
	if s == nil {
		return false
	}
	accepted, known := s.Terms(session.RevisionOf(t.Hash))
	return accepted && known
}

func needsTerms(request string) bool {
	for i := range routes {
		if access.RequestName(routes[i].ctrl) == request {
			return routes[i].terms
		}
	}
	return false
}
