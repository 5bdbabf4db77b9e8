package predict

import (
	"iter"

	"wamble"
	"wamble/internal/pack"
)

// Tree is the predictions of one board.
type Tree struct {
	board wamble.BoardID
	tree  *tree
}

// Key returns the key of the pseudonyms. SetKey sets that of another process, whose readers know its pseudonyms.
func (b *Table) Key() [32]byte       { return b.key }
func (b *Table) SetKey(key [32]byte) { b.key = key }

// Walk yields the trees of all boards, in no order. The table may change while the walk rests; a tree that
// stays in it is yielded once.
func (b *Table) Walk() iter.Seq[Tree] {
	return func(yield func(Tree) bool) {
		for id, t := range b.trees {
			if !yield(Tree{id, t}) {
				return
			}
		}
	}
}

// AppendState appends the tree to dst, for ReadTree.
func (t Tree) AppendState(dst []byte) []byte {
	w := writer{dst}
	w.Uint(uint64(t.board))
	w.Uint(uint64(len(t.tree.nodes)))
	for i := range t.tree.nodes {
		w.node(&t.tree.nodes[i])
	}
	return w.Writer
}

// ReadTree decodes what Tree.AppendState wrote, as rows of a store.
func ReadTree(from *pack.Reader) (wamble.BoardID, []wamble.Prediction) {
	r := &reader{*from}
	board := wamble.BoardID(r.Uint())
	rows := make([]wamble.Prediction, 0, min(r.Remaining(), maxTree))
	for range r.Count() {
		n := r.node()
		r.Must(n.up >= none && int(n.up) < len(rows))
		if r.Bad() {
			break
		}
		row := wamble.Prediction{
			ID: n.id, Board: board, Session: n.session, UCI: n.uci, Ply: int(n.ply),
			Depth: int(n.depth), Streak: int(n.streak), Status: n.status, Points: n.points,
		}
		if n.up != none {
			row.Parent = rows[n.up].ID
		}
		rows = append(rows, row)
	}
	*from = r.Reader
	return board, rows
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

type reader struct{ pack.Reader }

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
