package predict

import (
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
var ErrState = errors.New("the state of the predictions is damaged or of another version")

// A snapshot is the magic, the key, and for each board, by number: its number,
// its predictions in their order, its streaks by session. Numbers are varints,
// lists and texts begin with their length. The last letter of the magic is the
// version.
const magic = "wamble predictions 1\n"

// Snapshot appends the whole book to dst, for Load in another process.
func (b *Book) Snapshot(dst []byte) []byte {
	w := writer(append(append(dst, magic...), b.key[:]...))
	w.uint(uint64(len(b.trees)))
	for _, id := range slices.Sorted(maps.Keys(b.trees)) {
		t := b.trees[id]
		w.uint(uint64(id))
		w.uint(uint64(len(t.nodes)))
		for i := range t.nodes {
			w.node(&t.nodes[i])
		}
		w.uint(uint64(len(t.streaks)))
		for _, s := range slices.SortedFunc(maps.Keys(t.streaks), cmp.Compare[wamble.SessionID]) {
			w.int(int64(s))
			w.int(int64(t.streaks[s]))
		}
	}
	return w
}

type writer []byte

func (w *writer) uint(n uint64) { *w = binary.AppendUvarint(*w, n) }
func (w *writer) int(n int64)   { *w = binary.AppendVarint(*w, n) }

func (w *writer) node(n *node) {
	w.int(int64(n.id))
	w.int(int64(n.session))
	w.int(int64(n.up))
	w.int(int64(n.ply))
	w.int(int64(n.streak))
	*w = append(*w, n.depth, byte(n.status), byte(len(n.uci)))
	*w = append(*w, n.uci...)
	*w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(n.points))
}

// Load returns the book of a snapshot. It returns ErrState for bytes that
// Snapshot cannot have written.
func Load(opts Options, newID NewID, state []byte) (*Book, error) {
	r := &reader{rest: state}
	if string(r.take(len(magic))) != magic {
		return nil, ErrState
	}
	var key [32]byte
	copy(key[:], r.take(len(key)))
	b := New(opts, newID, key)
	last := wamble.BoardID(0)
	for i, n := 0, r.count(); i < n; i++ {
		id := wamble.BoardID(r.uint())
		t := r.tree()
		if r.bad || i > 0 && id <= last {
			return nil, ErrState
		}
		b.trees[id], last = t, id
		b.size += len(t.nodes)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, ErrState
	}
	return b, nil
}

// reader takes a snapshot apart; past its end, or at an odd number, it is bad and
// gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) octet() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 1 && r.rest[size-1] == 0 {
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

// int32 reads a number that must fit.
func (r *reader) int32() int32 {
	n := r.int()
	if n != int64(int32(n)) {
		r.bad = true
	}
	return int32(n)
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

func (r *reader) tree() *tree {
	t := &tree{}
	for n := r.count(); len(t.nodes) < n && !r.bad; {
		node := r.node()
		if node.up < none || int(node.up) >= len(t.nodes) || t.find(node.id) != none {
			r.bad = true
		}
		t.nodes = append(t.nodes, node)
	}
	last := wamble.SessionID(math.MinInt64)
	for i, n := 0, r.count(); i < n && !r.bad; i++ {
		if t.streaks == nil {
			t.streaks = map[wamble.SessionID]int32{}
		}
		s := wamble.SessionID(r.int())
		t.streaks[s] = r.int32()
		if i > 0 && s <= last {
			r.bad = true
		}
		last = s
	}
	return t
}

func (r *reader) node() node {
	n := node{
		id: wamble.PredictionID(r.int()), session: wamble.SessionID(r.int()),
		up: r.int32(), ply: r.int32(), streak: r.int32(),
		depth: r.octet(), status: wamble.PredictionStatus(r.octet()),
	}
	n.uci = string(r.take(int(r.octet())))
	if b := r.take(8); b != nil {
		n.points = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	r.bad = r.bad || n.status > wamble.Expired || n.depth > maxDepth
	return n
}
