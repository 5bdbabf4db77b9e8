package predict

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

// Restore takes in a stored prediction at the start of a profile, parents before their children. Plies is
// the number of moves of its board. A pending prediction that cannot come true any more is ended by an
// intent. It reports false if the prediction is not in the table afterwards.
func (b *Table) Restore(now time.Time, p *wamble.Prediction, plies int, out intent.Intents) bool {
	t := b.treeOf(p.Board)
	n := node{
		id: p.ID, session: p.Session, up: none, ply: int32(p.Ply), streak: int32(max(p.Streak, 0)),
		depth: uint8(min(max(p.Depth, 0), maxDepth)), status: p.Status, points: p.Points, uci: p.UCI,
	}
	fits := p.Status <= wamble.Expired && t.find(p.ID) == none && len(t.nodes) < maxTree && b.size < maxTable
	if p.Parent != 0 {
		n.up = t.find(p.Parent)
		fits = fits && n.up != none && t.nodes[n.up].ply+1 == n.ply
	}
	if n.status == wamble.Pending && (!fits || p.Ply <= plies || t.lost(&n)) {
		b.settle(now, &n, wamble.Expired, 0, out)
		fits = false
	}
	if !fits {
		if len(t.nodes) == 0 {
			delete(b.trees, p.Board)
		}
		return false
	}
	t.nodes = append(t.nodes, n)
	b.size++
	if t.streaks == nil {
		t.streaks = map[wamble.SessionID]int32{}
	}
	switch {
	case n.status == wamble.Pending && n.up == none:
		t.streaks[n.session] = n.streak
	case n.status == wamble.Incorrect && p.Ply == plies:
		t.streaks[n.session] = none // as Resolve does
	case n.status == wamble.Correct && p.Ply == plies && t.streaks[n.session] >= 0:
		t.streaks[n.session] = n.streak + 1
	}
	return true
}
