package predict

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"wamble"
	"wamble/internal/pack"
)

// ErrState is returned for a snapshot that is damaged or of another version.
var ErrState = errors.New("the state of the predictions is damaged or of another version")

// A snapshot is the magic, the key, and for each board, by number: its number, its predictions in order,
// its streaks by session. Numbers are varints, lists and texts begin with their length. The last character
// of the magic is the version.
const magic = "wamble predictions 1\n"

// Snapshot appends the whole table to dst, for Load in another process.
func (b *Table) Snapshot(dst []byte) []byte {
	w := writer{append(append(dst, magic...), b.key[:]...)}
	w.Uint(uint64(len(b.trees)))
	for _, id := range slices.Sorted(maps.Keys(b.trees)) {
		t := b.trees[id]
		w.Uint(uint64(id))
		w.Uint(uint64(len(t.nodes)))
		for i := range t.nodes {
			w.node(&t.nodes[i])
		}
		w.Uint(uint64(len(t.streaks)))
		for _, s := range slices.SortedFunc(maps.Keys(t.streaks), cmp.Compare[wamble.SessionID]) {
			w.Int(int64(s))
			w.Int(int64(t.streaks[s]))
		}
	}
	return w.Writer
}

type writer struct{ pack.Writer }

func (w *writer) node(n *node) {
	w.Int(int64(n.id))
	w.Int(int64(n.session))
	w.Int(int64(n.up))
	w.Int(int64(n.ply))
	w.Int(int64(n.streak))
	w.Raw(n.depth, byte(n.status))
	w.Text(n.uci)
	w.Float(n.points)
}

// Load returns the table of a snapshot. Errors: ErrState for bytes that Snapshot cannot have written.
func Load(opts Options, newID NewID, state []byte) (*Table, error) {
	r := &reader{pack.NewReader(state)}
	if string(r.Take(len(magic))) != magic {
		return nil, ErrState
	}
	var key [32]byte
	copy(key[:], r.Take(len(key)))
	b := New(opts, newID, key)
	last := wamble.BoardID(0)
	for i, n := 0, r.Count(); i < n; i++ {
		id := wamble.BoardID(r.Uint())
		t := r.tree()
		if r.Bad() || i > 0 && id <= last {
			return nil, ErrState
		}
		b.trees[id], last = t, id
		b.size += len(t.nodes)
	}
	if !r.Ended() {
		return nil, ErrState
	}
	return b, nil
}

type reader struct{ pack.Reader }

func (r *reader) tree() *tree {
	t := &tree{}
	for n := r.Count(); len(t.nodes) < n && !r.Bad(); {
		node := r.node()
		if node.up < none || int(node.up) >= len(t.nodes) || t.find(node.id) != none {
			r.Fail()
		}
		t.nodes = append(t.nodes, node)
	}
	last := wamble.SessionID(math.MinInt64)
	for i, n := 0, r.Count(); i < n && !r.Bad(); i++ {
		if t.streaks == nil {
			t.streaks = map[wamble.SessionID]int32{}
		}
		s := wamble.SessionID(r.Int())
		t.streaks[s] = r.Int32()
		if i > 0 && s <= last {
			r.Fail()
		}
		last = s
	}
	return t
}

func (r *reader) node() node {
	n := node{
		id: wamble.PredictionID(r.Int()), session: wamble.SessionID(r.Int()),
		up: r.Int32(), ply: r.Int32(), streak: r.Int32(),
		depth: r.Octet(), status: wamble.PredictionStatus(r.Octet()),
	}
	n.uci = string(r.Bytes())
	n.points = r.Float()
	r.Must(n.status <= wamble.Expired && n.depth <= maxDepth)
	return n
}
