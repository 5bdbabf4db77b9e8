package profile

import (
	"wamble"
	"wamble/internal/pack"
)

// unstored is the sessions and identities about which the store must not be asked until it has what was
// decided before the start: they are not in memory, and the journal has changes of them.
type unstored struct {
	sessions map[wamble.SessionID]bool
	tokens   map[wamble.TokenHash]bool
	keys     map[wamble.PublicKey]bool
	all      bool // a purge is in the journal, whose sessions are unknown
	shared   bool // other profiles of the store wait until it has the journal
}

func newUnstored() unstored {
	return unstored{
		sessions: map[wamble.SessionID]bool{}, tokens: map[wamble.TokenHash]bool{}, keys: map[wamble.PublicKey]bool{},
	}
}

// any reports whether the set is not empty.
func (u *unstored) any() bool { return u.all || len(u.sessions)+len(u.tokens)+len(u.keys) > 0 }

// add adds a session; its token or key may be zero.
func (u *unstored) add(id wamble.SessionID, token wamble.TokenHash, key wamble.PublicKey) {
	u.sessions[id] = true
	if !token.IsZero() {
		u.tokens[token] = true
	}
	if !key.IsZero() {
		u.keys[key] = true
	}
}

// mayBeOutdated reports whether the answer to a load may be outdated.
func (u *unstored) mayBeOutdated(l *Load, in *Loaded) bool {
	switch {
	case !u.any():
		return false
	case l.Subject == NameOf:
		return true // one of them may have the name
	case l.Subject == PlayerOf:
		return u.keys[l.Key]
	case l.Subject != SessionOf:
		return false
	case in.Session == nil:
		return u.all && in.Outcome == Found
	}
	return u.all || u.sessions[in.Session.ID] || u.keys[in.Session.Key]
}

func saveUnstored(p *Profile, dst []byte) ([]byte, error) {
	b := &p.unstored
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
	w.Uint(uint64(len(p.merged)))
	for from, into := range p.merged {
		w.Raw(from[:]...)
		w.Raw(into[:]...)
	}
	return w, nil
}

func readKey(r *pack.Reader) (key wamble.PublicKey) {
	copy(key[:], r.Take(len(key)))
	return key
}

func loadUnstored(p *Profile, state []byte) error {
	r := pack.NewReader(state)
	b := newUnstored()
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
		b.keys[readKey(&r)] = true
	}
	p.merged = mergedKeys{}
	for range r.Count() {
		from := readKey(&r)
		p.merged[from] = readKey(&r)
	}
	p.unstored = b
	return sliceError(&r)
}
