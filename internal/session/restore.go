package session

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"wamble"
)

// Load returns the table of a snapshot. It returns ErrState for bytes that
// Snapshot cannot have written.
func Load(opts Options, ids IDs, entropy io.Reader, state []byte) (*Table, error) {
	r := &reader{rest: state}
	if string(r.take(len(magic))) != magic {
		return nil, ErrState
	}
	t := New(opts, ids, entropy)
	t.now, t.newest, t.applied = r.int(), r.uint(), r.uint()
	identities := r.identities(t)
	for _, l := range t.inOrder() {
		for range r.count() {
			s, ok := r.session(identities, l == &t.rolls.fresh)
			if !ok || !t.adopt(s, l) {
				return nil, ErrState
			}
		}
	}
	r.erased(t)
	for range r.count() {
		token := wamble.Token(r.array16())
		if token.IsZero() || t.over.Find(token) != nil || t.byToken[token] != nil || t.over.Len() == maxOver {
			return nil, ErrState
		}
		t.over.Use(token)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, ErrState
	}
	for _, i := range identities {
		if i.sessions == 0 {
			t.fading = append(t.fading, faded{i, i.seq})
		}
	}
	return t, nil
}

// adopt takes a session of a snapshot in, if it fits.
func (t *Table) adopt(s *Session, l *roll) bool {
	before := l.first
	switch {
	case s.id <= 0 || s.token.IsZero() || t.byToken[s.token] != nil || t.byID[s.id] != nil:
		return false
	case before == nil:
	case l == &t.rolls.departing && s.seq < before.seq:
		return false
	case l != &t.rolls.departing && s.times.heard < before.times.heard:
		return false
	}
	if s.greeting != nil {
		if t.greetings[*s.greeting] != nil {
			return false
		}
		t.greetings[*s.greeting] = s
	}
	t.add(s, l)
	return true
}

// reader takes a snapshot apart; after its end, or at an odd number, it is bad
// and gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 1 && r.rest[size-1] == 0 { // too short, too long, or not the shortest form
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// count reads the length of a list, each of whose entries has some bytes.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) array16() (a [16]byte) {
	copy(a[:], r.take(len(a)))
	return a
}

func (r *reader) array32() (a [32]byte) {
	copy(a[:], r.take(len(a)))
	return a
}

func (r *reader) stats() wamble.Stats {
	return wamble.Stats{
		Score: r.float(), PredictionScore: r.float(), Rating: r.float(), Games: int(r.int()), Chess960Games: int(r.int()),
	}
}

func (r *reader) identities(t *Table) []*Identity {
	n := r.count()
	all := make([]*Identity, 0, min(n, len(r.rest)/64))
	for range n {
		i := &Identity{key: r.array32(), id: wamble.PlayerID(r.int())}
		i.handle = string(r.take(r.count()))
		i.stats = r.stats()
		i.seq = r.uint()
		if r.bad || t.identities[i.key] != nil || len(all) > 0 && i.seq < all[len(all)-1].seq {
			r.bad, r.rest = true, nil
			return nil
		}
		t.identities[i.key] = i
		all = append(all, i)
	}
	return all
}

// erased reads the erased keys, which are in their order.
func (r *reader) erased(t *Table) {
	var last wamble.PublicKey
	for range r.count() {
		key, seq := wamble.PublicKey(r.array32()), r.uint()
		if bytes.Compare(last[:], key[:]) >= 0 || seq <= t.applied {
			r.bad, r.rest = true, nil
			return
		}
		t.partings.erased[key], last = seq, key
	}
}

func (r *reader) session(identities []*Identity, fresh bool) (*Session, bool) {
	s := &Session{token: r.array16(), id: wamble.SessionID(r.int())}
	identity := r.uint()
	s.own = r.stats()
	trust := r.int()
	s.trust = int32(trust)
	s.times = times{created: r.int(), heard: r.int(), noted: r.int()}
	s.seq, s.left, s.terms = r.uint(), wamble.BoardID(r.uint()), terms(r.uint())
	if fresh {
		s.greeting = r.greeting()
	}
	switch r.uint() {
	case 0:
	case 1:
		s.pending = &challenge{key: r.array32(), text: r.array32(), at: r.int()}
	default:
		r.bad = true
	}
	if r.bad || identity > uint64(len(identities)) || int64(s.trust) != trust {
		return nil, false
	}
	if identity > 0 {
		s.identity = identities[identity-1]
		s.identity.sessions++
	}
	return s, true
}

func (r *reader) greeting() *greeting {
	g := new(greeting)
	err := g.from.Addr.UnmarshalBinary(r.take(r.count()))
	route, seq := r.uint(), r.uint()
	g.from.Route, g.seq = uint32(route), uint32(seq)
	if err != nil || route > math.MaxUint32 || seq > math.MaxUint32 {
		r.bad = true
	}
	return g
}
