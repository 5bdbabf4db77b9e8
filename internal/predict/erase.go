package predict

import (
	"maps"
	"slices"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// Erase deletes the predictions of sessions, which are deleted from the store too. Predictions of others
// under a pending one cannot come true any more: they expire.
func (b *Table) Erase(now time.Time, whose map[wamble.SessionID]bool, out intent.Intents) {
	for _, id := range slices.Sorted(maps.Keys(b.trees)) {
		b.eraseFrom(now, id, whose, out)
	}
}

func (b *Table) eraseFrom(now time.Time, id wamble.BoardID, whose map[wamble.SessionID]bool, out intent.Intents) {
	t := b.trees[id]
	b.moved = b.moved[:0]
	kept := t.nodes[:0]
	for i := range t.nodes { // a parent comes before its children
		n, index := t.nodes[i], int32(none)
		orphan := n.up != none && b.moved[n.up] < 0
		switch {
		case whose[n.session]:
			if n.status == wamble.Pending {
				index = lostParent
			}
		case orphan && b.moved[n.up] == lostParent:
			if n.status == wamble.Pending {
				b.settle(now, &n, wamble.Expired, 0, out)
			}
			index = lostParent
		default:
			if index = int32(len(kept)); n.up != none {
				n.up = max(b.moved[n.up], none)
			}
			kept = append(kept, n)
		}
		b.moved = append(b.moved, index)
	}
	b.size -= len(t.nodes) - len(kept)
	clear(t.nodes[len(kept):])
	t.nodes = kept
	for s := range whose {
		delete(t.streaks, s)
	}
	if len(kept) == 0 && !t.running() {
		delete(b.trees, id)
	}
}

// lostParent is the new index of a node that was deleted while pending, or expired by that.
const lostParent = none - 1
