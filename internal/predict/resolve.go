package predict

import (
	"math"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// mostPoints bounds what one prediction pays or costs: the store has six digits before the point.
const mostPoints = 999_999

// Resolve compares the move that was made as ply of a board with its predictions.
func (b *Table) Resolve(now time.Time, id wamble.BoardID, ply int, m chess.Move, out intent.Intents) {
	t := b.trees[id]
	if t == nil {
		return
	}
	if t.next == nil {
		t.next = map[wamble.SessionID]int32{}
	}
	clear(t.next)
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case n.status != wamble.Pending:
		case t.lost(n) || int(n.ply) < ply: // the ply has passed if its move was not reported
			b.settle(now, n, wamble.Expired, 0, out)
		case int(n.ply) > ply:
		case b.matches(n.uci, m):
			b.settle(now, n, wamble.Correct, b.reward(int(n.streak)), out)
			if t.next[n.session] >= 0 {
				t.next[n.session] = n.streak + 1
			}
		default:
			points := 0 - rounded(math.Abs(b.opts.Penalty)) // never −0
			b.settle(now, n, wamble.Incorrect, points, out)
			t.next[n.session] = none // even if it has other correct ones
		}
	}
	t.streaks, t.next = t.next, t.streaks
	b.prune(id, t)
}

// lost reports whether the parent of a node was wrong or has expired.
func (t *tree) lost(n *node) bool {
	if n.up == none {
		return false
	}
	s := t.nodes[n.up].status
	return s == wamble.Incorrect || s == wamble.Expired
}

// matches reports whether a prediction has come true.
func (b *Table) matches(uci string, m chess.Move) bool {
	var buf [8]byte
	played := m.AppendUCI(buf[:0])
	if b.opts.AnyPromotion {
		return len(uci) >= 4 && uci[:4] == string(played[:4])
	}
	return uci == string(played)
}

// reward returns what a correct prediction pays after a streak.
func (b *Table) reward(streak int) float64 {
	if b.opts.Mode == Holder {
		return rounded(b.opts.Base)
	}
	growth := min(streak, max(b.opts.Cap, 1)-1)
	return rounded(b.opts.Base * math.Pow(b.opts.Multiplier, float64(growth)))
}

// rounded returns points as they are stored: with four decimals, at most mostPoints.
func rounded(points float64) float64 {
	points = min(points, mostPoints)
	return math.Round(points*1e4) / 1e4
}

// Expire ends and deletes all predictions of a board whose game is over.
func (b *Table) Expire(now time.Time, id wamble.BoardID, out intent.Intents) {
	t := b.trees[id]
	if t == nil {
		return
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.status == wamble.Pending {
			b.settle(now, n, wamble.Expired, 0, out)
		}
	}
	b.size -= len(t.nodes)
	delete(b.trees, id)
}
