package predict

import (
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// SubmitStatus is the result of a submission. Its number is sent as prediction.submit_status.
type SubmitStatus uint8

// The closed list of statuses.
const (
	Created       SubmitStatus = iota + 1
	Duplicate                  // the player has made their predictions here already
	DuplicateMove              // another player has predicted the same move
	Invalid                    // no move, an illegal one, or too late
	Limit                      // too many predictions
	NotAllowed
	NotFound // the parent is unknown
	Disabled
)

// Submission is a prediction that a player wants to make.
type Submission struct {
	Session wamble.SessionID
	Token   wamble.Token
	Board   wamble.BoardID
	On      chess.Position // position of the board
	Holds   bool           // the player is to move on it
	UCI     string
	Parent  wamble.PredictionID // 0: the next move
	// Level is how deep the policy lets the player predict: 0 only the next move; negative not at all.
	Level int
	// Reads says that the player may read the tree. Only then may they learn that another player predicts
	// the same.
	Reads bool
}

// Submit adds a prediction, or returns why not. The row is the new prediction, or the one that it
// duplicates.
func (b *Table) Submit(now time.Time, w Submission, out intent.Intents) (Row, SubmitStatus) {
	switch {
	case !b.Open():
		return Row{}, Disabled
	case w.Level < 0 || !b.MayPredict(w.Token, w.Holds):
		return Row{}, NotAllowed
	case !isMove(w.UCI):
		return Row{}, Invalid
	}
	t := b.trees[w.Board]
	n := node{session: w.Session, ply: int32(w.On.Ply()) + 1, uci: w.UCI, up: none}
	if w.Parent != 0 {
		up := t.find(w.Parent)
		if up == none {
			return Row{}, NotFound
		}
		parent := &t.nodes[up]
		if parent.status == wamble.Incorrect || parent.status == wamble.Expired {
			return Row{}, Invalid
		}
		n.up, n.ply, n.depth = up, parent.ply+1, parent.depth+1
		if int(n.depth) > min(w.Level, maxDepth) {
			return Row{}, NotAllowed
		}
	}
	if t != nil {
		if place, status := b.conflict(t, &n, w.Reads); status != 0 {
			return t.row(place), status
		}
	}
	switch {
	case int(n.ply) <= w.On.Ply() || !t.allows(&n, w.On):
		return Row{}, Invalid
	case b.size >= maxTable:
		return Row{}, Limit
	}
	return b.add(now, w, n, out)
}

// isMove reports whether text has the form of a move.
func isMove(text string) bool {
	if len(text) != 4 && len(text) != 5 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// conflict returns why the pending predictions under the same parent exclude n, and the index of the one
// that n duplicates, or none. The status is 0 if they do not exclude it.
func (b *Table) conflict(t *tree, n *node, reads bool) (place int32, status SubmitStatus) {
	open, own, first, same := 0, 0, int32(none), int32(none)
	for i := range t.nodes {
		o := &t.nodes[i]
		if o.status != wamble.Pending || o.up != n.up {
			continue
		}
		open++
		if o.session == n.session {
			if own++; own == 1 {
				first = int32(i)
			}
		}
		if same == none && o.uci == n.uci {
			same = int32(i)
		}
	}
	switch {
	case open >= b.opts.MaxPending || len(t.nodes) >= maxTree:
		return none, Limit
	case b.opts.MaxPerParent > 0 && own >= b.opts.MaxPerParent:
		return first, Duplicate
	case b.opts.OnePerMove && reads && same != none:
		return same, DuplicateMove
	}
	return none, 0
}

// allows reports whether a prediction is legal, provided that its ancestors come true.
func (t *tree) allows(n *node, on chess.Position) bool {
	if n.up != none {
		var ok bool
		if on, ok = t.after(n.up, on); !ok {
			return false
		}
	}
	_, err := on.ParseUCI(n.uci)
	return err == nil
}

// add adds a prediction to the table.
func (b *Table) add(now time.Time, w Submission, n node, out intent.Intents) (Row, SubmitStatus) {
	id, ok := b.newID()
	if !ok {
		return Row{}, Limit
	}
	t := b.treeOf(w.Board)
	n.id, n.streak = id, t.streak(w.Session)
	t.nodes = append(t.nodes, n)
	b.size++
	b.intents.record = intent.RecordPrediction{
		ID: id, Board: w.Board, Session: w.Session, Parent: w.Parent, UCI: n.uci,
		Ply: int(n.ply), Streak: int(n.streak), At: now,
	}
	out.Add(&b.intents.record)
	return t.row(int32(len(t.nodes) - 1)), Created
}
