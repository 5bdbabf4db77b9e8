package profile

import (
	"wamble"
	"wamble/internal/access"
	"wamble/internal/session"
	"wamble/wire"
)

// The refusals at the door.
var (
	errUnknownPlayer = &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "unknown player", Blocking: true}
	errNoNewPlayers  = &wamble.Denied{Code: wamble.Internal, Reason: "the server takes no new players at present"}
	errNoPredictions = &wamble.Denied{Code: wamble.Internal, Reason: "no predictions are taken at present"}
)

// whoOf returns the identity of a session as the policy knows it, zero for a guest.
func whoOf(s *session.Session) access.Who {
	if s == nil || s.Identity() == nil {
		return access.Who{}
	}
	return access.Who{ID: s.Identity().ID(), Key: s.Identity().Key()}
}

// decide asks the policy about an action of a session, nil for a guest. Key and value are the context of
// the action, "" if it has none.
func (p *Profile) decide(s *session.Session, action, resource, key, value string) access.Decision {
	return p.law.Decide(p.clock.wall(), whoOf(s), access.Right{Action: action, Resource: resource, Key: key, Value: value})
}

// tier returns the trust tier of a session, nil for a guest, in this profile.
func (p *Profile) tier(s *session.Session) int {
	return p.law.Tier(p.clock.wall(), whoOf(s), trustOf(s), &p.law.Own)
}

// trustOf returns the trust level that the store has for a session, 0 for a guest.
func trustOf(s *session.Session) int {
	if s == nil {
		return 0
	}
	return s.Trust()
}

// bypasses reports whether a request is not counted by the rate limits.
func (p *Profile) bypasses(_ wamble.Peer, h wire.Header) bool {
	return p.decide(p.sessions.Find(h.Token), "rate_limit.bypass", "request", "ctrl", access.RequestName(h.Ctrl)).Allowed
}

// outside returns why a request is refused before its session is looked up, so that it costs no load: bans
// of tokens and networks, a brownout, and rules of the policy that are the same for all players.
func (p *Profile) outside(r *request) *wamble.Denied {
	if p.law.Bans.OfPeers() {
		from, _ := p.link.Peer(r.id)
		if d := p.law.Bans.Of(p.clock.wall(), from.IP(), r.h.Token); d != nil {
			p.stats.Host.Banned++
			return d
		}
	}
	if p.brownout.NoPredictions && r.h.Ctrl == wire.CtrlSubmitPrediction {
		return errNoPredictions
	}
	return p.law.Outside(p.clock.wall(), r.h.Ctrl)
}

// inside returns why a request is refused once its session is known: a ban of the identity, the policy, or
// a missing session.
func (p *Profile) inside(r *request, row *route) *wamble.Denied {
	who := whoOf(r.session)
	if d := p.law.Bans.OfKey(p.clock.wall(), who.Key); d != nil {
		p.stats.Host.Banned++
		return d
	}
	if d := p.law.Inside(p.clock.wall(), who, r.h.Ctrl, row.needs); d != nil {
		return d
	}
	if row.must && r.session == nil {
		return errUnknownPlayer
	}
	return nil
}

// capsOf returns what a session may do that holds a board: nothing until it has accepted the terms.
func (p *Profile) capsOf(s *session.Session) wire.SessionCaps {
	if t := &p.law.Own.Terms; t.Text != "" {
		if accepted, _ := s.Terms(session.RevisionOf(t.Hash)); !accepted {
			return 0
		}
	}
	return p.caps(s)
}

// caps returns what the policy lets a session do, nil for a guest, without predictions if these are off.
func (p *Profile) caps(s *session.Session) wire.SessionCaps {
	caps := p.law.Caps(p.clock.wall(), whoOf(s))
	if !p.audience.book.Open() {
		caps &^= wire.MayPredict | wire.MayReadPredictions
	}
	return caps
}
