package profile

import (
	"wamble"
	"wamble/internal/access"
	"wamble/internal/intent"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// TermsHash returns the revision of the terms that players must accept, zero if there are no terms.
func (p *Profile) TermsHash() [32]byte {
	if t := &p.policy.Own.Terms; t.Text != "" {
		return t.Hash
	}
	return [32]byte{}
}

// askTerms returns the load for whether a session has accepted the terms of a place.
func (p *Profile) askTerms(r *request, at *access.Place) Load {
	return Load{Subject: TermsOf, Token: r.h.Token, Session: r.session.ID(), Profile: at.Name, Hash: at.Terms.Hash}
}

// learnTerms caches the store's answer about the terms of this profile in the session.
func (p *Profile) learnTerms(l *load, in *Loaded) {
	t := &p.policy.Own.Terms
	s := p.sessions.Find(l.Token)
	if s == nil || t.Text == "" || l.Hash != t.Hash || l.Profile != p.policy.Own.Name || in.Outcome > NotFound {
		return
	}
	if _, known := s.Terms(session.RevisionOf(t.Hash)); !known {
		s.SetTerms(session.RevisionOf(t.Hash), in.Answer != nil && in.Answer.Accepted)
	}
}

var errHelloFirst = &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "say hello first"}

// readTerms answers with the terms of a profile: this one's always, another's only if the player may
// discover it. They are too long for an address that may be forged.
func (p *Profile) readTerms(r *request, _ *Output) verdict {
	if r.session == nil && !p.link.Proven(r.id) {
		return p.deny(r, errHelloFirst)
	}
	name := r.message.(*wire.GetProfileTOS).Name
	at := p.policy.Place(name)
	text, of := noSuchProfile(name), string(name)
	if at != nil && (at.Name == p.policy.Own.Name || p.discovers(r.session, at)) {
		text, of = wire.Text(at.Terms.Text), at.Name
	}
	fields := append(p.scratch.fields[:0], wire.String(wire.KeyProfileName, of),
		wire.Int(wire.KeyRequestSeq, int64(r.h.Seq)))
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.ProfileTOSData{Terms: text}, fields...)
	return done
}

// The refusals of ACCEPT_PROFILE_TOS.
var (
	errNoTerms   = &wamble.Denied{Code: wamble.AccessDenied, Reason: "access denied"}
	errNoSession = &wamble.Denied{Code: wamble.AccessDenied, Reason: "session not found"}
)

// acceptTerms records that a session accepts the terms of this profile.
func (p *Profile) acceptTerms(r *request, out *Output) verdict {
	own, s := &p.policy.Own, r.session
	name := r.message.(*wire.AcceptProfileTOS).Name
	switch {
	case p.policy.Place(name) == nil || p.policy.Place(name).Name != own.Name || own.Terms.Text == "":
		return p.deny(r, errNoTerms)
	case s == nil:
		return p.deny(r, errNoSession)
	}
	revision := session.RevisionOf(own.Terms.Hash)
	if accepted, _ := s.Terms(revision); !accepted {
		s.SetTerms(revision, true)
		in := intent.RecordTermsAcceptance{Session: s.ID(), Profile: own.Name, Hash: own.Terms.Hash, At: p.clock.now}
		if p.termsRecorded != in.Hash {
			in.Text, p.termsRecorded = own.Terms.Text, in.Hash
		}
		p.frame.Add(&in)
	}
	b := p.heldBy(s)
	v := view{fields: p.scratch.fields[:0]}
	p.addProfileFields(&v, s, own, true)
	if r.h.Seq != 0 {
		v.fields.AddInt(wire.KeyRequestSeq, int64(r.h.Seq))
	}
	p.addSessionFields(&v, s, b)
	for i, f := range v.fields {
		if f.Key == wire.KeySessionCaps && f.Int() == 0 {
			v.fields[i] = wire.Int(wire.KeySessionCaps, 1) // clients read 0 as terms to be accepted
		}
	}
	h := wire.Header{Token: r.h.Token, Board: idOf(b), Flags: v.flags}
	link.Answer(p.link, r.id, h, wire.ProfileInfo{Info: infoOf(own)}, v.fields...)
	p.sealFor(s, out)
	return done
}
