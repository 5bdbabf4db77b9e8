package profile

import (
	"wamble"
	"wamble/internal/access"
	"wamble/internal/session"
	"wamble/wire"
)

// The refusals at authorization.
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

// policyDecision asks the policy about an action of a session, nil for a guest. Key and value are the context of
// the action, "" if it has none.
func (ru *rules) policyDecision(s *session.Session, action, resource, key, value string) access.Decision {
	return ru.policy.Decide(ru.clock.wall(), whoOf(s), access.Right{
		Action: action, Resource: resource, Key: key, Value: value,
	})
}

// tier returns the trust tier of a session, nil for a guest, in this profile.
func (ru *rules) tier(s *session.Session) int {
	return ru.policy.Tier(ru.clock.wall(), whoOf(s), trustOf(s), &ru.policy.Own)
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
	return p.policyDecision(p.sessions.Find(h.Token), "rate_limit.bypass", "request", "ctrl",
		access.RequestName(h.Ctrl)).Allowed
}

// denyBeforeLookup returns why a request is refused before its session is looked up, so that it costs no load: bans
// of tokens and networks, a brownout, and rules of the policy that are the same for all players.
func (p *Profile) denyBeforeLookup(r *request) *wamble.Denied {
	if p.policy.Bans.OfPeers() {
		from, _ := p.link.Peer(r.id)
		if d := p.policy.Bans.Of(p.clock.wall(), from.IP(), r.h.Token); d != nil {
			p.stats.Host.Banned++
			return d
		}
	}
	if p.brownout.NoPredictions && r.h.Ctrl == wire.CtrlSubmitPrediction {
		return errNoPredictions
	}
	return p.policy.DenyAnybody(p.clock.wall(), r.h.Ctrl)
}

// denyPlayer returns why a request is refused once its session is known: a ban of the identity, the policy, or
// a missing session.
func (p *Profile) denyPlayer(r *request, row *route) *wamble.Denied {
	who := whoOf(r.session)
	if d := p.policy.Bans.OfKey(p.clock.wall(), who.Key); d != nil {
		p.stats.Host.Banned++
		return d
	}
	if d := p.policy.DenyPlayer(p.clock.wall(), who, r.h.Ctrl, row.needs); d != nil {
		return d
	}
	if row.needsPlayer && r.session == nil {
		return errUnknownPlayer
	}
	return nil
}

// capsOf returns what a session may do that holds a board: nothing until it has accepted the terms.
func (p *Profile) capsOf(s *session.Session) wire.SessionCaps {
	if t := &p.policy.Own.Terms; t.Text != "" {
		if accepted, _ := s.Terms(session.RevisionOf(t.Hash)); !accepted {
			return 0
		}
	}
	return p.caps(s)
}

// caps returns what the policy lets a session do, nil for a guest, without predictions if these are off.
func (p *Profile) caps(s *session.Session) wire.SessionCaps {
	caps := p.policy.Caps(p.clock.wall(), whoOf(s))
	if !p.audience.predictions.Open() {
		caps &^= wire.MayPredict | wire.MayReadPredictions
	}
	return caps
}
