package predict

import (
	"math"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// Gain is what a session won, or lost, by a prediction.
type Gain struct {
	Session wamble.SessionID
	Points  float64
}

// mostPoints is what one prediction pays or costs at most: the store has six
// digits before the point.
const mostPoints = 999_999

// Resolve holds the move that was made as ply of a board against what was
// predicted of it. It appends to dst what everybody gained, in the order in which
// they predicted, and returns it.
func (b *Book) Resolve(now time.Time, id wamble.BoardID, ply int, m chess.Move, dst []Gain, out intent.Intents) []Gain {
	t := b.trees[id]
	if t == nil {
		return dst
	}
	if t.next == nil {
		t.next = map[wamble.SessionID]int32{}
	}
	clear(t.next)
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case n.status != wamble.Pending:
		case t.lost(n):
			b.settle(now, n, wamble.Expired, 0, out)
			dst = append(dst, Gain{Session: n.session})
		case int(n.ply) > ply:
		case int(n.ply) < ply: // of a move that nobody told of
			b.settle(now, n, wamble.Expired, 0, out)
			dst = append(dst, Gain{Session: n.session})
		case b.matches(n.uci, m):
			points := b.reward(int(n.streak))
			b.settle(now, n, wamble.Correct, points, out)
			dst = append(dst, Gain{n.session, points})
			if t.next[n.session] >= 0 {
				t.next[n.session] = n.streak + 1
			}
		default:
			points := 0 - rounded(math.Abs(b.opts.Penalty)) // never −0
			b.settle(now, n, wamble.Incorrect, points, out)
			dst = append(dst, Gain{n.session, points})
			t.next[n.session] = none // whatever else he has predicted
		}
	}
	t.streaks, t.next = t.next, t.streaks
	b.prune(id, t)
	return dst
}

// lost reports whether the parent of a node did not come true.
func (t *tree) lost(n *node) bool {
	if n.up == none {
		return false
	}
	s := t.nodes[n.up].status
	return s == wamble.Incorrect || s == wamble.Expired
}

// matches reports whether a prediction has come true.
func (b *Book) matches(uci string, m chess.Move) bool {
	var buf [8]byte
	played := m.AppendUCI(buf[:0])
	if b.opts.AnyPromotion {
		return len(uci) >= 4 && uci[:4] == string(played[:4])
	}
	return uci == string(played)
}

// reward is what a right prediction pays after a streak.
func (b *Book) reward(streak int) float64 {
	if b.opts.Mode == Holder {
		return rounded(b.opts.Base)
	}
	growth := min(streak, max(b.opts.Cap, 1)-1)
	return rounded(b.opts.Base * math.Pow(b.opts.Multiplier, float64(growth)))
}

// rounded returns points as the store keeps them: four decimals.
func rounded(points float64) float64 {
	points = min(points, mostPoints)
	return math.Round(points*1e4) / 1e4
}

// Expire ends all predictions of a board whose game is over, and forgets them.
// It appends to dst whose they were.
func (b *Book) Expire(now time.Time, id wamble.BoardID, dst []Gain, out intent.Intents) []Gain {
	t := b.trees[id]
	if t == nil {
		return dst
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.status == wamble.Pending {
			b.settle(now, n, wamble.Expired, 0, out)
			dst = append(dst, Gain{Session: n.session})
		}
	}
	b.size -= len(t.nodes)
	delete(b.trees, id)
	return dst
}
