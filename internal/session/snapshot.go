package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	"wamble"
)

// ErrState is returned when the bytes of a snapshot are damaged or of another
// version.
var ErrState = errors.New("the state of the sessions is damaged or of another version")

// magic begins a snapshot; its last letter is the version. Numbers are varints,
// lists and texts begin with their length.
const magic = "wamble sessions 2\n"

// Snapshot appends all sessions, identities, pending challenges and erased keys
// to dst, for Load in another process. What hosts have used of their allowance
// is not in it.
func (t *Table) Snapshot(dst []byte) []byte {
	w := writer(append(dst, magic...))
	w.int(t.now)
	w.uint(t.newest)
	w.uint(t.applied)
	number := w.identities(t)
	for _, l := range t.inOrder() {
		w.uint(uint64(l.n))
		for s := l.last; s != nil; s = s.prev {
			w.session(s, number[s.identity])
		}
	}
	w.erased(t)
	w.uint(uint64(t.over.Len()))
	t.over.FromOldest(func(token wamble.Token, _ *struct{}) { w = append(w, token[:]...) })
	return w
}

func (t *Table) inOrder() [4]*roll {
	return [4]*roll{&t.rolls.fresh, &t.rolls.live, &t.rolls.idle, &t.rolls.departing}
}

type writer []byte

func (w *writer) uint(n uint64)   { *w = binary.AppendUvarint(*w, n) }
func (w *writer) int(n int64)     { *w = binary.AppendVarint(*w, n) }
func (w *writer) float(f float64) { *w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(f)) }

func (w *writer) text(s string) {
	w.uint(uint64(len(s)))
	*w = append(*w, s...)
}

func (w *writer) stats(s wamble.Stats) {
	w.float(s.Score)
	w.float(s.PredictionScore)
	w.float(s.Rating)
	w.int(int64(s.Games))
	w.int(int64(s.Chess960Games))
}

// identities writes them in the order in which they were last used, and returns
// their numbers, from 1.
func (w *writer) identities(t *Table) map[*Identity]int {
	all := slices.SortedFunc(maps.Values(t.identities), func(a, b *Identity) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), bytes.Compare(a.key[:], b.key[:]))
	})
	number := make(map[*Identity]int, len(all))
	w.uint(uint64(len(all)))
	for n, i := range all {
		number[i] = n + 1
		*w = append(*w, i.key[:]...)
		w.int(int64(i.id))
		w.text(i.handle)
		w.stats(i.stats)
		w.uint(i.seq)
	}
	return number
}

// erased writes the keys that the store may not know to be erased, in their
// order.
func (w *writer) erased(t *Table) {
	keys := slices.SortedFunc(maps.Keys(t.partings.erased), func(a, b wamble.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	w.uint(uint64(len(keys)))
	for _, key := range keys {
		*w = append(*w, key[:]...)
		w.uint(t.partings.erased[key])
	}
}

func (w *writer) session(s *Session, identity int) {
	*w = append(*w, s.token[:]...)
	w.int(int64(s.id))
	w.uint(uint64(identity))
	w.stats(s.own)
	w.int(int64(s.trust))
	w.int(s.times.created)
	w.int(s.times.heard)
	w.int(s.times.noted)
	w.uint(s.seq)
	w.uint(uint64(s.left))
	w.uint(uint64(s.terms))
	if g := s.greeting; g != nil {
		addr, _ := g.from.Addr.MarshalBinary() // it never fails
		w.text(string(addr))
		w.uint(uint64(g.from.Route))
		w.uint(uint64(g.seq))
	}
	if c := s.pending; c == nil {
		w.uint(0)
	} else {
		w.uint(1)
		*w = append(append(*w, c.key[:]...), c.text[:]...)
		w.int(c.at)
	}
}
