package session

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"

	"wamble"
	"wamble/internal/pack"
)

// ErrState is returned for a snapshot that is damaged or of another version.
var ErrState = errors.New("the state of the sessions is damaged or of another version")

// magic begins a snapshot; its last character is the version. Numbers are varints, lists and texts begin
// with their length.
const magic = "wamble sessions 5\n"

// Snapshot appends all sessions, identities, pending challenges and erased keys to dst, for Load in another
// process. The used allowances of hosts are left out.
func (t *Table) Snapshot(dst []byte) []byte {
	w := writer{append(dst, magic...)}
	w.Int(t.now)
	w.Uint(t.newest)
	w.Uint(t.applied)
	number := w.identities(t)
	for _, l := range t.inOrder() {
		w.Uint(uint64(l.n))
		for s := l.last; s != nil; s = s.prev {
			w.session(s, number[s.identity])
		}
	}
	w.erased(t)
	w.Uint(uint64(t.refused.Len()))
	t.refused.FromOldest(func(hash wamble.TokenHash, _ *struct{}) { w.Raw(hash[:]...) })
	return w.Writer
}

func (t *Table) inOrder() [4]*list {
	return [4]*list{&t.lists.fresh, &t.lists.live, &t.lists.idle, &t.lists.departing}
}

type writer struct{ pack.Writer }

// stats writes rating and games. The totals that earlier versions have there are zero.
func (w *writer) stats(s wamble.Stats) {
	w.Float(s.Score)
	w.Float(s.PredictionScore)
	w.Float(s.Rating)
	w.Int(int64(s.Games))
	w.Int(int64(s.Chess960Games))
}

// identities writes the identities in the order of their last message, and returns their numbers, from 1.
func (w *writer) identities(t *Table) map[*Identity]int {
	used := maps.Collect(maps.All(t.identities))
	maps.DeleteFunc(used, func(_ wamble.PublicKey, i *Identity) bool { return i.stale && i.sessions == 0 })
	all := slices.SortedFunc(maps.Values(used), func(a, b *Identity) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), bytes.Compare(a.key[:], b.key[:]))
	})
	number := make(map[*Identity]int, len(all))
	w.Uint(uint64(len(all)))
	for n, i := range all {
		number[i] = n + 1
		w.Raw(i.key[:]...)
		w.Int(int64(i.id))
		w.Text(i.handle)
		w.stats(i.stats())
		w.Uint(i.seq)
	}
	return number
}

// erased writes the keys that the store may not have erased yet, sorted.
func (w *writer) erased(t *Table) {
	keys := slices.SortedFunc(maps.Keys(t.erased), func(a, b wamble.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	w.Uint(uint64(len(keys)))
	for _, key := range keys {
		w.Raw(key[:]...)
		w.Uint(t.erased[key])
	}
}

// The flags of a session in a snapshot.
const (
	hasChallenge = 1
	isBot        = 2
	isStale      = 4
)

func (w *writer) session(s *Session, identity int) {
	if w.Raw(s.token[:]...); s.token.IsZero() {
		w.Raw(s.hash[:]...)
	}
	w.Int(int64(s.id))
	w.Uint(uint64(identity))
	w.stats(s.games.stats())
	w.Int(int64(s.trust))
	w.Int(s.times.created)
	w.Int(s.times.lastSeen)
	w.Int(s.times.lastStored)
	w.Uint(s.seq)
	w.Uint(uint64(s.lastBoard))
	w.Uint(uint64(s.terms))
	w.Text(hostText(s.bound))
	if g := s.greeting; g != nil {
		addr, _ := g.from.Addr.MarshalBinary() // it never fails
		w.Bytes(addr)
		w.Uint(g.from.Place())
		w.Uint(uint64(g.seq))
	}
	flags := uint64(0)
	if s.pending != nil {
		flags |= hasChallenge
	}
	if s.bot {
		flags |= isBot
	}
	if s.stale {
		flags |= isStale
	}
	w.Uint(flags)
	if c := s.pending; c != nil {
		w.Raw(c.key[:]...)
		w.Raw(c.text[:]...)
		w.Int(c.at)
	}
}
