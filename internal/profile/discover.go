package profile

import (
	"slices"
	"strconv"
	"strings"

	"wamble/internal/access"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// discovers reports whether a session, nil for a guest, may know that a profile exists.
func (ru *rules) discovers(s *session.Session, at *access.Place) bool {
	return ru.policy.Discovers(ru.clock.wall(), whoOf(s), trustOf(s), at)
}

// listProfiles answers with the names of the profiles that the player may discover.
func (p *Profile) listProfiles(r *request, _ *Output) verdict {
	var names []string
	for i := range p.policy.Places {
		if at := &p.policy.Places[i]; p.discovers(r.session, at) {
			names = append(names, at.Name)
		}
	}
	slices.Sort(names)
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token},
		wire.ProfilesList{Names: wire.Text(strings.Join(names, ","))})
	return done
}

// maxEchoedName bounds how many bytes of an unknown profile's name are echoed.
const maxEchoedName = 80

// noSuchProfile returns the text for a profile that does not exist or may not be discovered.
func noSuchProfile(name []byte) wire.Text {
	return append(wire.Text("NOTFOUND;"), wire.Limit(name, maxEchoedName)...)
}

// profileInfo answers with the data of one profile. A hidden profile is answered like one that does not
// exist.
func (p *Profile) profileInfo(r *request, out *Output) verdict {
	name := r.message.(*wire.GetProfileInfo).Name
	at := p.policy.Place(name)
	if len(name) == 0 || at == nil || !p.discovers(r.session, at) {
		link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.ProfileInfo{Info: noSuchProfile(name)})
		return done
	}
	accepted, known := p.hasAccepted(r, at)
	if !known {
		return p.ask(r, p.askTerms(r, at), out)
	}
	v := view{fields: p.scratch.fields[:0]}
	p.addProfileFields(&v, r.session, at, accepted)
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.ProfileInfo{Info: infoOf(at)}, v.fields...)
	return done
}

// hasAccepted reports whether the session of a request has accepted the terms of a place, and whether that
// is known without asking the store.
func (ru *rules) hasAccepted(r *request, at *access.Place) (accepted, known bool) {
	switch in := r.answerTo(TermsOf); {
	case at.Terms.Text == "":
		return true, true
	case r.session == nil:
		return false, true
	case at.Name == ru.policy.Own.Name:
		return r.session.Terms(session.RevisionOf(at.Terms.Hash))
	case in != nil:
		return in.Answer != nil && in.Answer.Accepted, true
	}
	return false, false
}

// infoOf returns the text of PROFILE_INFO.
func infoOf(at *access.Place) wire.Text {
	b := append(wire.Text(at.Name), ';')
	b = append(strconv.AppendInt(b, int64(at.Port), 10), ';')
	if at.Advertise {
		b = append(b, "1;"...)
	} else {
		b = append(b, "0;"...)
	}
	return wire.Limit(strconv.AppendInt(b, int64(at.Visibility), 10), wire.TextLimit)
}

// addProfileFields adds the fields of PROFILE_INFO in their order.
func (ru *rules) addProfileFields(v *view, s *session.Session, at *access.Place, accepted bool) {
	caps, hasTerms := int64(0), at.Terms.Text != ""
	if ru.policy.AllowsAt(ru.clock.wall(), whoOf(s), at, wire.CtrlClientHello) {
		caps |= wire.ProfileMayJoin
	}
	if hasTerms && ru.policy.AllowsAt(ru.clock.wall(), whoOf(s), at, wire.CtrlGetProfileTOS) {
		caps |= wire.ProfileHasTerms
	}
	v.fields.AddInt(wire.KeyProfileCaps, caps)
	v.fields.AddInt(wire.KeyProfileTOSAvailable, oneIf(hasTerms))
	v.fields.AddInt(wire.KeyProfileTOSAccepted, oneIf(accepted))
	v.fields.AddInt(wire.KeyProfileWebSocketPort, int64(at.WebSocketPort))
	if at.WebSocketPath != "" {
		v.fields.AddString(wire.KeyProfileWebSocketPath, at.WebSocketPath)
	}
	v.fields.AddInt(wire.KeyProfileReserveTimeout, int64(at.Reservation.Seconds()))
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// heldBy returns the board that a session holds, nil if none.
func (p *pool) heldBy(s *session.Session) *board.Board { return p.boards.Held(s.ID()) }
