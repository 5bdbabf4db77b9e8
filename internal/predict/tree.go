package predict

import (
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// node is one prediction.
type node struct {
	id      wamble.PredictionID
	session wamble.SessionID
	up      int32 // index of its parent in the tree, or none
	ply     int32 // the ply that it predicts
	streak  int32 // of its session when the prediction was made
	depth   uint8
	status  wamble.PredictionStatus
	keep    bool // resolved by the last move
	points  float64
	uci     string
}

// none is the index of no node.
const none = -1

// tree is the predictions of one board. A parent comes before its children.
type tree struct {
	nodes []node
	// streaks are the correct predictions in a row up to the last move, by session; 0 or less is no streak.
	// next is a second map, for Resolve to reuse.
	streaks, next map[wamble.SessionID]int32
}

func (b *Table) treeOf(id wamble.BoardID) *tree {
	t := b.trees[id]
	if t == nil {
		t = &tree{}
		b.trees[id] = t
	}
	return t
}

// find returns the index of a prediction, or none.
func (t *tree) find(id wamble.PredictionID) int32 {
	if t != nil {
		for i := range t.nodes {
			if t.nodes[i].id == id {
				return int32(i)
			}
		}
	}
	return none
}

// parentID returns the number of a node's parent, 0 if none.
func (t *tree) parentID(n *node) wamble.PredictionID {
	if n.up == none {
		return 0
	}
	return t.nodes[n.up].id
}

// streak returns how many predictions in a row were correct.
func (t *tree) streak(s wamble.SessionID) int32 {
	if t == nil {
		return 0
	}
	return max(t.streaks[s], 0)
}

// after returns the position in which a child of the node up predicts a move: the board's, after the moves
// of the pending ancestors. It reports false if those moves are not legal on the board.
func (t *tree) after(up int32, on chess.Position) (chess.Position, bool) {
	var chain [maxDepth + 1]int32
	n := 0
	for i := up; i != none && t.nodes[i].status == wamble.Pending && n < len(chain); i = t.nodes[i].up {
		chain[n] = i
		n++
	}
	for n--; n >= 0; n-- {
		m, err := on.ParseUCI(t.nodes[chain[n]].uci)
		if err != nil {
			return on, false
		}
		on = on.Play(m)
	}
	return on, true
}

// prune deletes the predictions that are neither pending, nor an ancestor of a pending one, nor resolved by
// the last move; readers see the latter until the next move.
func (b *Table) prune(id wamble.BoardID, t *tree) {
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		n.keep = n.keep || n.status == wamble.Pending
		if n.keep && n.up != none {
			t.nodes[n.up].keep = true
		}
	}
	b.moved = b.moved[:0]
	kept := t.nodes[:0]
	for i := range t.nodes {
		n := t.nodes[i]
		index := int32(none)
		if n.keep {
			index = int32(len(kept))
			if n.up != none {
				n.up = b.moved[n.up]
			}
			n.keep = false
			kept = append(kept, n)
		}
		b.moved = append(b.moved, index)
	}
	b.size -= len(t.nodes) - len(kept)
	clear(t.nodes[len(kept):])
	t.nodes = kept
	if len(kept) == 0 && !t.running() {
		delete(b.trees, id)
	}
}

// running reports whether any session has a streak.
func (t *tree) running() bool {
	for _, n := range t.streaks {
		if n > 0 {
			return true
		}
	}
	return false
}

// settle resolves a node, and adds the intent.
func (b *Table) settle(now time.Time, n *node, status wamble.PredictionStatus, points float64,
	out intent.Intents) {
	n.status, n.points, n.keep = status, points, true
	b.intents.resolve = intent.ResolvePrediction{ID: n.id, Session: n.session, Status: status, Points: points, At: now}
	out.Add(&b.intents.resolve)
}
