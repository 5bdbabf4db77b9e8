package profile

import (
	"wamble"
	"wamble/wire"
)

// The refusals at the door.
var (
	errDenied        = &wamble.Denied{Code: wamble.AccessDenied}
	errUnknownPlayer = &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "unknown player", Blocking: true}
	errTerms         = &wamble.Denied{Code: wamble.AccessDenied, Reason: "terms acceptance required"}
	errBanned        = &wamble.Denied{Code: wamble.AccessDenied, Reason: "you are banned from this server", Blocking: true}
	errNoNewPlayers  = &wamble.Denied{Code: wamble.Internal, Reason: "the server takes no new players at present"}
	errNoPredictions = &wamble.Denied{Code: wamble.Internal, Reason: "no predictions are taken at present"}
)

// outside returns why a request is refused before it is known whose it is, so
// that it costs no load: bans of tokens and networks, a brownout, and a policy
// that is the same for everybody.
func (p *Profile) outside(r *request) *wamble.Denied {
	l := &p.mode.law
	if len(l.bans.tokens) > 0 || len(l.bans.nets) > 0 {
		from, _ := p.link.Peer(r.id)
		if d := l.bans.of(p.clock.now, from.IP(), r.h.Token); d != nil {
			p.stats.Host.Banned++
			return d
		}
	}
	switch {
	case l.brownout.NoPredictions && r.h.Ctrl == wire.CtrlSubmitPrediction:
		return errNoPredictions
	case !l.book.Personal() && !p.allows(nil, r.h.Ctrl):
		return errDenied
	}
	return nil
}

// inside returns why a request is refused now that it is known whose it is: a
// ban of the identity, the policy, and that there is nobody.
func (p *Profile) inside(r *request, row *route) *wamble.Denied {
	l := &p.mode.law
	if s := r.session; s != nil && s.Identity() != nil && len(l.bans.keys) > 0 {
		if d := l.bans.ofKey(p.clock.now, s.Identity().Key()); d != nil {
			p.stats.Host.Banned++
			return d
		}
	}
	switch {
	case l.book.Personal() && !p.allows(r.session, r.h.Ctrl):
		return errDenied
	case row.action != "" && !l.free && !p.decide(r.session, row.action, row.resource, "", "").Allowed:
		return errDenied
	case row.must && r.session == nil:
		return errUnknownPlayer
	}
	return nil
}

// agreed reports whether a request may go on as far as the terms are concerned.
// If not, it was refused, or waits for the store to say.
func (p *Profile) agreed(r *request, out *Output) bool {
	t := &p.mode.law.own.terms
	if t.text == "" {
		return true
	}
	if r.session == nil {
		p.refuse(r, errTerms, out)
		return false
	}
	accepted, known := r.session.Terms(t.revision)
	switch {
	case accepted:
		return true
	case known:
		p.refuse(r, errTerms, out)
	default:
		p.ask(r, p.askTerms(r, &p.mode.law.own), out)
	}
	return false
}

// askTerms is the question whether a session has accepted the terms of a place.
func (p *Profile) askTerms(r *request, at *place) Load {
	return Load{Subject: TermsOf, Token: r.h.Token, Session: r.session.ID(), Profile: at.Name, Hash: at.terms.hash}
}

// learnTerms takes down what the store says about the own terms.
func (p *Profile) learnTerms(l *load, in *Loaded) {
	t := &p.mode.law.own.terms
	s := p.sessions.Find(l.Token)
	if s == nil || t.text == "" || l.Hash != t.hash || l.Profile != p.mode.law.own.Name || in.Outcome > NotFound {
		return
	}
	if _, known := s.Terms(t.revision); !known {
		s.SetTerms(t.revision, in.Answer != nil && in.Answer.Accepted)
	}
}
