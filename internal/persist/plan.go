package persist

import (
	"bytes"
	"cmp"
	"slices"

	"wamble"
)

// Message is one frame of the journal, decoded.
type Message struct {
	Seq     uint64
	Intents []wamble.Intent
}

// Origin says where an intent of a plan came from.
type Origin struct {
	Seq   uint64 // of the message
	Index int    // in the message
}

// Plan is the intents of a run of messages, made ready for one transaction:
// coalesced, and in an order in which everything exists before it is needed.
type Plan struct {
	Through uint64 // the last message of the run
	Intents []wamble.Intent
	Origins []Origin // of Intents, index by index
}

// Limits bound a plan.
type Limits struct {
	Intents int // at most; at least 1
	Bytes   int // of estimated payload, at most; at least 1
}

// Adapt lowers the limit on intents to what the backlog deserves: small
// batches while there is little to do, so that rows appear soon; large ones
// under pressure.
func (l Limits) Adapt(pending int) Limits {
	adaptive := 128
	switch {
	case pending >= 1024:
		adaptive = 512
	case pending >= 256:
		adaptive = 256
	}
	l.Intents = min(l.Intents, adaptive)
	return l
}

// MakePlan takes messages from the front of the queue, as many as fit into the
// limits and at least one, and returns the plan and how many it took. A message
// is never split: its effects appear together.
func MakePlan(queue []Message, limits Limits) (Plan, int) {
	var p Plan
	if len(queue) == 0 {
		return p, 0
	}
	var b barrier
	taken, intents, size := 0, 0, 0
	for _, m := range queue {
		n, bytes := len(m.Intents), 0
		for _, in := range m.Intents {
			bytes += estimate(in)
		}
		if taken > 0 && (intents+n > limits.Intents || size+bytes > limits.Bytes || !b.admits(m.Intents)) {
			break
		}
		b.add(m.Intents)
		taken, intents, size = taken+1, intents+n, size+bytes
	}
	p.arrange(queue[:taken], b.closed)
	return p, taken
}

// estimate is how many bytes an intent will bring to the database, as the
// original counted them.
func estimate(in wamble.Intent) int {
	switch in := in.(type) {
	case *wamble.CreateBoard, *wamble.UpdateBoard:
		return 119
	case *wamble.RecordTermsAcceptance:
		return 160 + len(in.Text)
	case *wamble.LinkSession, *wamble.RecordPrediction, *wamble.ResolvePrediction, *wamble.RecordGameResult:
		return 50
	default:
		return 34
	}
}

// barrier keeps intents out of a plan whose outcome depends on others of the
// same plan in a way that the order of kinds does not respect: a session that
// changes its identity twice, and deletions.
type barrier struct {
	identity map[wamble.SessionID]bool
	closed   bool
}

func (b *barrier) admits(intents []wamble.Intent) bool {
	if b.closed || keepsOrder(intents) {
		return false
	}
	for _, in := range intents {
		if id, ok := changesIdentity(in); ok && b.identity[id] {
			return false
		}
	}
	return true
}

func (b *barrier) add(intents []wamble.Intent) {
	b.closed = keepsOrder(intents)
	for _, in := range intents {
		if id, ok := changesIdentity(in); ok {
			if b.identity == nil {
				b.identity = map[wamble.SessionID]bool{}
			}
			b.identity[id] = true
		}
	}
}

// keepsOrder reports whether one message holds what its own barrier would keep
// apart. It cannot be split, so it makes a plan by itself, in its own order.
func keepsOrder(intents []wamble.Intent) bool {
	var identity []wamble.SessionID
	for _, in := range intents {
		switch in.(type) {
		case *wamble.ErasePlayer, *wamble.PurgeSessions:
			return true
		}
		if id, ok := changesIdentity(in); ok {
			if slices.Contains(identity, id) {
				return true
			}
			identity = append(identity, id)
		}
	}
	return false
}

func changesIdentity(in wamble.Intent) (wamble.SessionID, bool) {
	switch in := in.(type) {
	case *wamble.LinkSession:
		return in.Session, true
	case *wamble.UnlinkSession:
		return in.Session, true
	}
	return 0, false
}

// item is an intent with its origin and the place of its kind in a batch.
type item struct {
	in     wamble.Intent
	origin Origin
	rank   int
}

// arrange fills the plan from messages: newest per key where only the newest
// counts, then by kind, then by what lies together in the table, unless they
// must keep their order.
func (p *Plan) arrange(messages []Message, keep bool) {
	var items []item
	seen := map[key]bool{}
	for _, m := range slices.Backward(messages) {
		for i, in := range slices.Backward(m.Intents) {
			if k, ok := keyOf(in); ok {
				if seen[k] {
					continue
				}
				seen[k] = true
			}
			items = append(items, item{in, Origin{m.Seq, i}, rank[in.Kind()]})
		}
		p.Through = max(p.Through, m.Seq)
	}
	slices.Reverse(items)
	if !keep {
		slices.SortStableFunc(items, func(a, b item) int {
			if a.rank != b.rank {
				return cmp.Compare(a.rank, b.rank)
			}
			return locality(a.in, b.in)
		})
	}
	for _, it := range items {
		p.Intents = append(p.Intents, it.in)
		p.Origins = append(p.Origins, it.origin)
	}
}

// rank is the place of a kind in a batch.
var rank = func() (r [256]int) {
	for i, k := range wamble.Kinds() {
		r[k] = i
	}
	return r
}()

// A key names what an intent overwrites. Creating and removing a reservation
// have the same key: who holds a board is decided by the last of either.
type key struct {
	kind wamble.Kind
	id   uint64
}

func keyOf(in wamble.Intent) (key, bool) {
	switch in := in.(type) {
	case *wamble.UpdateBoard:
		return key{in.Kind(), uint64(in.Board)}, true
	case *wamble.UpdateBoardAssignmentTime:
		return key{in.Kind(), uint64(in.Board)}, true
	case *wamble.UpdateSessionLastSeen:
		return key{in.Kind(), uint64(in.Session)}, true
	case *wamble.CreateReservation:
		return key{wamble.KindRemoveReservation, uint64(in.Board)}, true
	case *wamble.RemoveReservation:
		return key{wamble.KindRemoveReservation, uint64(in.Board)}, true
	}
	return key{}, false
}

// locality orders intents of one kind by the rows they touch: moves and
// payouts lie together by board, and all writers take row locks in one order.
func locality(a, b wamble.Intent) int {
	switch a := a.(type) {
	case *wamble.RecordMove:
		b := b.(*wamble.RecordMove)
		return cmp.Or(cmp.Compare(a.Board, b.Board), cmp.Compare(a.Ply, b.Ply))
	case *wamble.RecordPayout:
		b := b.(*wamble.RecordPayout)
		return cmp.Or(cmp.Compare(a.Board, b.Board), cmp.Compare(a.Session, b.Session))
	case *wamble.UpdateBoard:
		return cmp.Compare(a.Board, b.(*wamble.UpdateBoard).Board)
	case *wamble.UpdateBoardAssignmentTime:
		return cmp.Compare(a.Board, b.(*wamble.UpdateBoardAssignmentTime).Board)
	case *wamble.UpdateSessionLastSeen:
		return cmp.Compare(a.Session, b.(*wamble.UpdateSessionLastSeen).Session)
	case *wamble.RecordRating:
		b := b.(*wamble.RecordRating)
		return cmp.Or(bytes.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.Session, b.Session))
	}
	return 0
}
