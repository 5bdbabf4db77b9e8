package profile

import (
	"wamble"
	"wamble/internal/intent"
	"wamble/internal/pack"
)

// ResumeOtherProfile is messages of another profile of the same store, of which this one may not have been
// told when its slices were written. Their order relative to its own messages is unknown, so sessions and
// identities that they change are left to the store.
type ResumeOtherProfile struct{ Frames [][]byte }

func (in *ResumeOtherProfile) pack(w *pack.Writer) {
	w.Uint(uint64(len(in.Frames)))
	for _, frame := range in.Frames {
		w.Bytes(frame)
	}
}

func (in *ResumeOtherProfile) unpack(r *pack.Reader) {
	for n := r.Count(); len(in.Frames) < n && !r.Bad(); {
		in.Frames = append(in.Frames, r.Bytes())
	}
}

func (in *ResumeOtherProfile) apply(p *Profile, _ *Output) {
	if p.stage != starting {
		return
	}
	r := p.resumption()
	for _, frame := range in.Frames {
		r.visitor.Visit(frame, func(in intent.Intent) { r.changedByOthers.note(p, in) })
	}
}

// changedByOthers is the sessions and identities that other profiles of the store have changed.
type changedByOthers struct {
	sessions map[wamble.SessionID]bool
	keys     map[wamble.PublicKey]bool
}

// note notes whose facts an intent of another profile changes.
func (e *changedByOthers) note(p *Profile, in intent.Intent) {
	t := in.Kind().Row().Touches(in)
	e.sessions[t.Session] = true
	for _, key := range t.Keys {
		e.keys[key] = true
	}
	p.unstored.all = p.unstored.all || t.All
}

// dropChanged drops the sessions and identities that other profiles have changed, and all sessions of such
// identities. They are read from the store again.
func (r *resumption) dropChanged(p *Profile) {
	e := &r.changedByOthers
	delete(e.sessions, 0)
	for id := range e.sessions {
		if s := r.sessions[id]; s != nil {
			e.keys[s.Key] = true
		}
	}
	delete(e.keys, wamble.PublicKey{})
	for _, id := range r.order {
		if s := r.sessions[id]; s != nil && (e.sessions[id] || e.keys[s.Key]) {
			r.drop(s)
		}
	}
	for key := range e.keys {
		delete(r.players, key)
		p.unstored.keys[key] = true
	}
}
