package profile

import (
	"wamble"
	"wamble/internal/intent"
	"wamble/internal/pack"
)

// ResumeElsewhere is messages of another profile of the same store, of which this one may not have been
// told when its slices were written. Their order relative to its own messages is unknown, so sessions and
// identities that they change are left to the store.
type ResumeElsewhere struct{ Frames [][]byte }

func (in *ResumeElsewhere) pack(w *pack.Writer) {
	w.Uint(uint64(len(in.Frames)))
	for _, frame := range in.Frames {
		w.Bytes(frame)
	}
}

func (in *ResumeElsewhere) unpack(r *pack.Reader) {
	for n := r.Count(); len(in.Frames) < n && !r.Bad(); {
		in.Frames = append(in.Frames, r.Bytes())
	}
}

func (in *ResumeElsewhere) take(p *Profile, _ *Output) {
	if p.stage != starting {
		return
	}
	v := p.resumption()
	for _, frame := range in.Frames {
		v.visitor.Visit(frame, func(in intent.Intent) { v.elsewhere.note(p, in) })
	}
}

// elsewhere is the sessions and identities that other profiles of the store have changed.
type elsewhere struct {
	sessions map[wamble.SessionID]bool
	keys     map[wamble.PublicKey]bool
}

// note is the one switch over what another profile decides about sessions and identities. A game begun
// there only adds to a count, which is correct when the session is next read from the store.
func (e *elsewhere) note(p *Profile, in intent.Intent) {
	switch in := in.(type) {
	case *intent.RecordPayout:
		e.sessions[in.Session] = true
	case *intent.ResolvePrediction:
		if in.Points != 0 {
			e.sessions[in.Session] = true
		}
	case *intent.RecordRating:
		e.sessions[in.Session], e.keys[in.Key] = true, true
	case *intent.RenewToken:
		e.sessions[in.Session] = true
	case *intent.LinkSession:
		e.sessions[in.Session], e.keys[in.Key] = true, true
	case *intent.UnlinkSession:
		e.sessions[in.Session] = true
	case *intent.MarkBot:
		e.sessions[in.Session] = true
	case *intent.SetTrust:
		e.sessions[in.Session], e.keys[in.Key] = true, true
	case *intent.SetName:
		e.keys[in.Key] = true
	case *intent.ErasePlayer:
		e.keys[in.Key] = true
	case *intent.MergePlayers:
		e.keys[in.From], e.keys[in.Into] = true, true
	case *intent.RevokeSessions:
		e.sessions[in.Session], e.keys[in.Key] = true, true
	case *intent.PurgeSessions:
		p.behind.all = true
	}
}

// leaveChanged drops the sessions and identities that other profiles have changed, and all sessions of such
// identities. They are read from the store again.
func (v *resumption) leaveChanged(p *Profile) {
	e := &v.elsewhere
	delete(e.sessions, 0)
	for id := range e.sessions {
		if s := v.sessions[id]; s != nil {
			e.keys[s.Key] = true
		}
	}
	delete(e.keys, wamble.PublicKey{})
	for _, id := range v.order {
		if s := v.sessions[id]; s != nil && (e.sessions[id] || e.keys[s.Key]) {
			v.drop(p, s)
		}
	}
	for key := range e.keys {
		delete(v.players, key)
		p.behind.keys[key] = true
	}
}
