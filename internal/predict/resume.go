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
