package spectate

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"wamble"
	"wamble/chess"
)

// Board is what spectators see of a board.
type Board struct {
	ID       wamble.BoardID
	Version  uint64
	Position chess.Position
	Moved    int64 // microseconds since 1970; 0 before the first move
	// Attraction orders boards that have changed at the same time.
	Attraction float64
	Chess960   bool
	Bot        bool         // a program made the last move
	From, To   chess.Square // of the last move; equal: none to show
}

// entry is a board in the hub.
type entry struct {
	board   Board
	change  uint64 // its last change; 0: not in the log, or dropped from it
	dirty   bool   // it has changed since settle
	removed bool   // it cannot be watched any more
	live    bool   // it is counted in log.live
	views   [2]view
}

// IsOpen reports whether the hub must be told of every change of a board.
func (h *Hub) IsOpen() bool { return h.open }

// Open gives a closed hub all boards that can be watched. From then on it must be told of every change.
func (h *Hub) Open(now time.Time, boards iter.Seq[Board]) {
	h.empty, h.open = h.tick(now), true
	for b := range boards {
		h.Show(b)
	}
	h.numberChanges()
}

func (h *Hub) close() {
	h.open = false
	clear(h.entries)
	h.log = log{last: h.log.last, lastRemoval: h.log.lastRemoval}
}

// Show gives the hub the present state of a board.
func (h *Hub) Show(b Board) {
	e := h.entries[b.ID]
	if e == nil {
		e = &entry{}
		h.entries[b.ID] = e
	} else if !e.removed && e.board.looksLike(&b) {
		e.board = b
		return
	}
	e.board, e.removed = b, false
	h.touch(e)
}

// looksLike reports whether two states of a board look the same to a watcher.
func (b *Board) looksLike(o *Board) bool {
	return b.Position == o.Position && b.From == o.From && b.To == o.To
}

// Hide tells the hub that a board cannot be watched any more; b is its last state.
func (h *Hub) Hide(b Board) {
	if e := h.entries[b.ID]; e != nil && !e.removed {
		e.board, e.removed = b, true
		h.touch(e)
	}
}

func (h *Hub) touch(e *entry) {
	if !e.dirty {
		e.dirty = true
		h.log.dirty = append(h.log.dirty, e)
	}
}

// numberChanges numbers the changes. Of boards that have changed together, the one with the later move, and then
// the more attractive one, counts as the more recent.
func (h *Hub) numberChanges() {
	l := &h.log
	if len(l.dirty) > 0 {
		slices.SortFunc(l.dirty, func(a, b *entry) int {
			return cmp.Or(
				cmp.Compare(a.board.Moved, b.board.Moved),
				cmp.Compare(a.board.Attraction, b.board.Attraction),
				cmp.Compare(b.board.ID, a.board.ID),
			)
		})
		for _, e := range l.dirty {
			e.dirty = false
			h.number(e)
		}
		clear(l.dirty)
		l.dirty = l.dirty[:0]
	}
	h.forgetRemoved()
	l.compact()
}

// number gives an entry the next change.
func (h *Hub) number(e *entry) {
	l := &h.log
	if e.change == 0 && e.removed { // it came and went unseen
		delete(h.entries, e.board.ID)
		return
	}
	if e.live == e.removed { // it comes or goes
		if e.live = !e.removed; e.live {
			l.live++
		} else {
			l.live--
		}
	}
	l.last++
	if e.removed {
		l.lastRemoval = l.last
		l.removals = append(l.removals, removal{e, l.last, h.now})
	}
	e.change = l.last
	l.slots = append(l.slots, slot{l.last, e})
}

// removalTTL is how long watchers are told that a board is gone.
const removalTTL = 30 * second

// forgetRemoved drops boards that went longer than removalTTL ago.
func (h *Hub) forgetRemoved() {
	l := &h.log
	n := 0
	for n < len(l.removals) && l.removals[n].at+removalTTL <= h.now {
		if g := l.removals[n]; g.e.removed && g.e.change == g.change && !g.e.dirty {
			delete(h.entries, g.e.board.ID)
			g.e.change = 0
		}
		n++
	}
	if n > 0 {
		l.removals = append(l.removals[:0], l.removals[n:]...)
	}
}
