package profile

import (
	"wamble"
	"wamble/internal/pack"
)

// behind is the sessions and identities about which the store must not be asked until it has what was
// decided before the start: they are not in memory, and the journal has changes of them.
type behind struct {
	sessions map[wamble.SessionID]bool
	tokens   map[wamble.TokenHash]bool
	keys     map[wamble.PublicKey]bool
	all      bool // a purge is in the journal, whose sessions are unknown
	shared   bool // other profiles of the store wait until it has the journal
}

func newBehind() behind {
	return behind{
		sessions: map[wamble.SessionID]bool{}, tokens: map[wamble.TokenHash]bool{}, keys: map[wamble.PublicKey]bool{},
	}
}

// any reports whether the set is not empty.
func (b *behind) any() bool { return b.all || len(b.sessions)+len(b.tokens)+len(b.keys) > 0 }

// add adds a session; its token or key may be zero.
func (b *behind) add(id wamble.SessionID, token wamble.TokenHash, key wamble.PublicKey) {
	b.sessions[id] = true
	if !token.IsZero() {
		b.tokens[token] = true
	}
	if !key.IsZero() {
		b.keys[key] = true
	}
}

// concerns reports whether the answer to a load may be outdated.
func (b *behind) concerns(l *Load, in *Loaded) bool {
	switch {
	case !b.any():
		return false
	case l.Subject == NameOf:
		return true // one of them may have the name
	case l.Subject == PlayerOf:
		return b.keys[l.Key]
	case l.Subject != SessionOf:
		return false
	case in.Session == nil:
		return b.all && in.Outcome == Found
	}
	return b.all || b.sessions[in.Session.ID] || b.keys[in.Session.Key]
}

// The section behind is empty if the set is.
func saveBehind(p *Profile, dst []byte) ([]byte, error) {
	b := &p.behind
	if !b.any() && !b.shared {
		return dst, nil
	}
	w := pack.Writer(dst)
	w.Uint(uint64(oneIf(b.all) + 2*oneIf(b.shared)))
	w.Uint(uint64(len(b.sessions)))
	for id := range b.sessions {
		w.Int(int64(id))
	}
	w.Uint(uint64(len(b.tokens)))
	for token := range b.tokens {
		w.Raw(token[:]...)
	}
	w.Uint(uint64(len(b.keys)))
	for key := range b.keys {
		w.Raw(key[:]...)
	}
	return w, nil
}

func loadBehind(v *adoption, state []byte) error {
	r := pack.NewReader(state)
	b := newBehind()
	flags := r.Uint()
	b.all, b.shared = flags&1 != 0, flags&2 != 0
	for range r.Count() {
		b.sessions[wamble.SessionID(r.Int())] = true
	}
	for range r.Count() {
		var token wamble.TokenHash
		copy(token[:], r.Take(len(token)))
		b.tokens[token] = true
	}
	for range r.Count() {
		var key wamble.PublicKey
		copy(key[:], r.Take(len(key)))
		b.keys[key] = true
	}
	v.behind = b
	return end(&r)
}
