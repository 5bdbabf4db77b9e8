package profile

import (
	"net/netip"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/session"
)

// Reader describes a reader over HTTP.
type Reader struct {
	// Token is that of the reader's session. Without a token, or if the session is not in memory or its
	// token not valid at From, the reader is a guest.
	Token wamble.Token
	From  netip.Addr
	// About is the player whose stats are wanted; nil for other data.
	About *wamble.Player
}

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
	if d := p.policy.Bans.OfKey(p.clock.wall(), whoOf(s).Key); d != nil {
		return d
	}
	for i := range rights {
		if !p.grants(s, &r, &rights[i]) {
			return access.ErrDenied
		}
		if rights[i].Action == "protocol.ctrl" && !p.hasAgreed(s, rights[i].Resource) {
			return access.ErrTerms
		}
	}
	return nil
}

// grants asks the policy about one right, as the handler of the request does.
func (ru *rules) grants(s *session.Session, r *Reader, right *access.Right) bool {
	switch {
	case right.Action == "stats.read" && r.About != nil:
		return ru.policy.MayReadStats(ru.clock.wall(), whoOf(s), access.Who{ID: r.About.ID, Key: r.About.Key})
	case right.Action == "spectate.access" && ru.tier(s) < ru.cfg.Spectators.Visibility:
		return false
	}
	return ru.policy.Decide(ru.clock.wall(), whoOf(s), *right).Allowed
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
