package session

import (
	"bytes"
	"io"

	"wamble"
	"wamble/internal/pack"
)

// Load returns the table of a snapshot. Errors: ErrState for bytes that Snapshot cannot have written.
func Load(opts Options, ids IDs, entropy io.Reader, state []byte) (*Table, error) {
	r := &reader{Reader: pack.NewReader(state)}
	if string(r.Take(len(magic))) != magic {
		return nil, ErrState
	}
	t := New(opts, ids, entropy)
	t.now, t.newest, t.applied = r.Int(), r.Uint(), r.Uint()
	identities := r.identities(t)
	for _, l := range t.inOrder() {
		for range r.Count() {
			s, ok := r.session(identities, l == &t.lists.fresh)
			if !ok || !t.adopt(s, l) {
				return nil, ErrState
			}
		}
	}
	r.erased(t)
	for range r.Count() {
		hash := wamble.TokenHash(r.array16())
		if hash.IsZero() || t.refused.Find(hash) != nil || t.refused.Len() == maxRefused {
			return nil, ErrState
		}
		t.refused.Use(hash)
	}
	if !r.Ended() {
		return nil, ErrState
	}
	for _, i := range identities {
		if i.sessions == 0 {
			t.unused = append(t.unused, unusedIdentity{i, i.seq})
		}
	}
	return t, nil
}

// adopt adds a session of a snapshot, and reports false if its state is invalid.
func (t *Table) adopt(s *Session, l *list) bool {
	before := l.first
	switch {
	case s.id <= 0 || s.hash.IsZero() || t.byToken[s.token] != nil || t.byHash[s.hash] != nil || t.byID[s.id] != nil:
		return false
	case before == nil:
	case l == &t.lists.departing && s.seq < before.seq:
		return false
	case l != &t.lists.departing && s.times.lastSeen < before.times.lastSeen:
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

type reader struct{ pack.Reader }

func (r *reader) array16() (a [16]byte) {
	copy(a[:], r.Take(len(a)))
	return a
}

func (r *reader) array32() (a [32]byte) {
	copy(a[:], r.Take(len(a)))
	return a
}

func (r *reader) stats() wamble.Stats {
	return wamble.Stats{
		Score: r.Float(), PredictionScore: r.Float(), Rating: r.Float(), Games: int(r.Int()),
		Chess960Games: int(r.Int()),
	}
}

func (r *reader) identities(t *Table) []*Identity {
	n := r.Count()
	all := make([]*Identity, 0, min(n, r.Remaining()/64))
	for range n {
		i := &Identity{key: r.array32(), id: wamble.PlayerID(r.Int())}
		i.handle = string(r.Bytes())
		stats := r.stats()
		i.rating, i.games = stats.Rating, gamesOf(stats)
		i.seq = r.Uint()
		if r.Bad() || t.identities[i.key] != nil || len(all) > 0 && i.seq < all[len(all)-1].seq {
			r.Fail()
			return nil
		}
		t.identities[i.key] = i
		all = append(all, i)
	}
	return all
}

// erased reads the erased keys, which are sorted.
func (r *reader) erased(t *Table) {
	var last wamble.PublicKey
	for range r.Count() {
		key, seq := wamble.PublicKey(r.array32()), r.Uint()
		if bytes.Compare(last[:], key[:]) >= 0 || seq <= t.applied {
			r.Fail()
			return
		}
		t.erased[key], last = seq, key
	}
}

func (r *reader) session(identities []*Identity, fresh bool) (*Session, bool) {
	s := &Session{token: r.array16()}
	if s.token.IsZero() {
		s.hash = r.array16()
	} else {
		s.hash = s.token.Hash()
	}
	s.id = wamble.SessionID(r.Int())
	identity := r.Uint()
	s.games = gamesOf(r.stats())
	s.trust = r.Int32()
	s.times = times{created: r.Int(), lastSeen: r.Int(), lastStored: r.Int()}
	s.seq, s.lastBoard, s.terms = r.Uint(), wamble.BoardID(r.Uint()), terms(r.Uint())
	text := string(r.Bytes())
	s.bound = hostOf(text)
	r.Must(hostText(s.bound) == text)
	if fresh {
		s.greeting = r.greeting()
	}
	flags := r.Uint()
	r.Must(flags <= hasChallenge|isBot|isStale)
	s.bot, s.stale = flags&isBot != 0, flags&isStale != 0
	if flags&hasChallenge != 0 {
		s.pending = &challenge{key: r.array32(), text: r.array32(), at: r.Int()}
	}
	if r.Bad() || identity > uint64(len(identities)) {
		return nil, false
	}
	if identity > 0 {
		s.identity = identities[identity-1]
		s.identity.sessions++
		s.identity.stale = s.identity.stale || s.stale
	}
	return s, true
}

func (r *reader) greeting() *greeting {
	g := new(greeting)
	err := g.from.Addr.UnmarshalBinary(r.Bytes())
	r.Must(err == nil)
	g.from.SetPlace(r.Uint())
	g.seq = r.Uint32()
	return g
}
