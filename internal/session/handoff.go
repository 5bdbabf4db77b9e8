package session

import (
	"errors"

	"wamble"
	"wamble/internal/pack"
)

// ErrState is returned for bytes that are damaged or of another version.
var ErrState = errors.New("the state of the sessions is damaged or of another version")

// The flags of a session in a handoff.
const (
	hasChallenge = 1
	isStale      = 2
)

// AppendHandoff appends to dst, for ReadHandoff, what another process that goes on with the sessions needs beside
// their states: the list and the times of each, whose facts are stale, and the logins under way.
func (t *Table) AppendHandoff(dst []byte) []byte {
	w := pack.Writer(dst)
	w.Int(t.now)
	for _, l := range t.inOrder() {
		w.Uint(uint64(l.n))
		for s := l.last; s != nil; s = s.prev {
			flags := uint64(0)
			if s.pending != nil {
				flags |= hasChallenge
			}
			if s.stale {
				flags |= isStale
			}
			w.Int(int64(s.id))
			w.Int(s.times.lastSeen)
			w.Int(s.times.lastStored)
			w.Uint(flags)
			if g := s.greeting; g != nil {
				addr, _ := g.from.Addr.MarshalBinary() // it never fails
				w.Bytes(addr)
				w.Uint(g.from.Place())
				w.Uint(uint64(g.seq))
			}
			if c := s.pending; c != nil {
				w.Raw(c.key[:]...)
				w.Raw(c.text[:]...)
				w.Int(c.at)
			}
		}
	}
	return w
}

// ReadHandoff gives the resumed sessions what AppendHandoff wrote. Errors: ErrState.
func (t *Table) ReadHandoff(state []byte) error {
	r := &reader{Reader: pack.NewReader(state)}
	t.now = max(t.now, r.Int())
	for _, l := range t.inOrder() {
		for range r.Count() {
			s := t.byID[wamble.SessionID(r.Int())]
			if s == nil {
				return ErrState
			}
			s.times.lastSeen, s.times.lastStored = r.Int(), r.Int()
			flags := r.Uint()
			r.Must(flags <= hasChallenge|isStale)
			if l == &t.lists.fresh {
				s.greeting = r.greeting()
				t.greetings[*s.greeting] = s
			}
			if flags&hasChallenge != 0 {
				s.pending = &challenge{key: r.array32(), text: r.array32(), at: r.Int()}
			}
			if s.stale = flags&isStale != 0; s.stale && s.identity != nil {
				s.identity.stale = true
			}
			l.moveToFront(s)
			t.count(s)
		}
	}
	if !r.Ended() || !t.consistent() {
		return ErrState
	}
	return nil
}

// consistent reports whether each list that is in the order of last signs of life is in it, and the sessions that were
// not confirmed, and no others, have a greeting of their own.
func (t *Table) consistent() bool {
	for _, l := range t.inOrder() {
		for s := l.last; s != nil; s = s.prev {
			late := s.prev != nil && l != &t.lists.departing && s.prev.times.lastSeen < s.times.lastSeen
			if late || (s.greeting != nil) != (l == &t.lists.fresh) {
				return false
			}
		}
	}
	return len(t.greetings) == t.lists.fresh.n
}

func (r *reader) greeting() *greeting {
	g := new(greeting)
	r.Must(g.from.Addr.UnmarshalBinary(r.Bytes()) == nil)
	g.from.SetPlace(r.Uint())
	g.seq = r.Uint32()
	return g
}
