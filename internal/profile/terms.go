package profile

import (
	"wamble"
	"wamble/internal/intent"
	"wamble/internal/link"
	"wamble/wire"
)

// readTerms shows the terms of a profile: of the own one always, of another if
// the asker may know of it.
func (p *Profile) readTerms(r *request, _ *Output) verdict {
	name := r.message.(*wire.GetProfileTOS).Name
	at := p.mode.law.place(name)
	text, of := missing(name), string(name)
	if at != nil && (at.Name == p.mode.law.own.Name || p.discovers(r.session, at)) {
		text, of = wire.Text(at.terms.text), at.Name
	}
	fields := append(p.scratch.fields[:0], wire.String(wire.KeyProfileName, of), wire.Int(wire.KeyRequestSeq, int64(r.h.Seq)))
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.ProfileTOSData{Terms: text}, fields...)
	return done
}

// The refusals of ACCEPT_PROFILE_TOS.
var (
	errNoTerms   = &wamble.Denied{Code: wamble.AccessDenied, Reason: "access denied"}
	errNoSession = &wamble.Denied{Code: wamble.AccessDenied, Reason: "session not found"}
)

// acceptTerms takes down that a session accepts the terms of this profile.
func (p *Profile) acceptTerms(r *request, out *Output) verdict {
	own, s := &p.mode.law.own, r.session
	name := r.message.(*wire.AcceptProfileTOS).Name
	switch {
	case p.mode.law.place(name) == nil || p.mode.law.place(name).Name != own.Name || own.terms.text == "":
		p.deny(r, errNoTerms)
		return done
	case s == nil:
		p.deny(r, errNoSession)
		return done
	}
	if accepted, _ := s.Terms(own.terms.revision); !accepted {
		s.SetTerms(own.terms.revision, true)
		p.draft.Add(&intent.RecordTermsAcceptance{
			Session: s.ID(), Profile: own.Name, Hash: own.terms.hash, Text: own.terms.text, At: p.clock.now,
		})
	}
	b := p.heldBy(s)
	v := view{fields: p.scratch.fields[:0]}
	p.portray(&v, s, own, true)
	if r.h.Seq != 0 {
		v.fields.AddInt(wire.KeyRequestSeq, int64(r.h.Seq))
	}
	p.sketch(&v, s, b)
	for i, f := range v.fields {
		if f.Key == wire.KeySessionCaps && f.Int() == 0 {
			v.fields[i] = wire.Int(wire.KeySessionCaps, 1) // clients take 0 for terms that wait
		}
	}
	h := wire.Header{Token: r.h.Token, Board: idOf(b), Flags: v.flags}
	link.Answer(p.link, r.id, h, wire.ProfileInfo{Info: infoOf(own)}, v.fields...)
	p.sealFor(s, out)
	return done
}
