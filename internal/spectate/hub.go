package spectate

import (
	"cmp"
	"slices"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// Options is the spectators' part of a profile's configuration.
type Options struct {
	// Max bounds the watchers that take a place, -1: no bound. Records bounds all watchers.
	Max, Records int
	// AdminTrust is the trust that needs no place for a focus; negative: none does. Visibility is the trust
	// that watching needs.
	AdminTrust, Visibility int
	// SummaryHz and FocusHz are how often per second a watcher is shown what is new; 0: only once.
	SummaryHz, FocusHz int
	// Focus says that single boards may be watched.
	Focus bool
	// Full repeats the whole summary each time, instead of what has changed.
	Full bool
	// PerWatcher and Total bound the packets per second of one watcher, and of all together; 0: no bound.
	PerWatcher, Total int
	// Idle is how long a silent watcher is kept.
	Idle time.Duration
}

// Profile is what a hub needs of the profile around it.
type Profile interface {
	// Send sends a packet to the address of a token, and reports whether there is one. It does not retain
	// the bytes.
	Send(token wamble.Token, packet []byte) bool
	// Room returns how many packets can be sent now.
	Room() int
	// Viewer returns the present state of a session; false if it is not here any more.
	Viewer(id wamble.SessionID) (Viewer, bool)
}

// Hub is all watchers of a profile, and all boards that they can see. It is used by one goroutine.
type Hub struct {
	opts       Options
	now        int64 // microseconds since 1970
	open       bool  // it is told of every change of a board
	slow       bool
	entries    map[wamble.BoardID]*entry
	log        log
	watchers   []*watcher
	bySession  map[wamble.SessionID]*watcher
	counted    int   // watchers that take a place
	turn       int   // index of the watcher that is served first
	nextTurn   int64 // when Due serves the watchers
	generation int64 // of the newest summary
	empty      int64 // since when there are no watchers
	total      bucket
	bytes      scratch
}

// scratch is memory for packets.
type scratch struct {
	copy, extra []byte
	fen         [chess.MaxFEN]byte
	fields      [6]wire.Field
}

// New returns a hub without watchers. It is closed: it is not told of boards.
func New(opts Options) *Hub {
	return &Hub{opts: opts, entries: map[wamble.BoardID]*entry{}, bySession: map[wamble.SessionID]*watcher{}}
}

// Reconfigure changes the options. The next Due checks all watchers.
func (h *Hub) Reconfigure(opts Options) {
	h.opts = opts
	for _, w := range h.watchers {
		w.times.check = 0
	}
}

// Slow divides all rates by slowness, until Slow is called with false.
func (h *Hub) Slow(on bool) { h.slow = on }

// slowness is the factor of Slow.
const slowness = 4

// SetMax changes Options.Max; present watchers go on, unless it is 0.
func (h *Hub) SetMax(n int) { h.opts.Max = n }

// Counted returns how many watchers take a place.
func (h *Hub) Counted() int { return h.counted }

// Len returns the number of watchers.
func (h *Hub) Len() int { return len(h.watchers) }

// BoardAudience is a board and the number of watchers with their focus on it.
type BoardAudience struct {
	Board    wamble.BoardID
	Watchers int
}

// Audiences returns at most most boards, those with the most focused watchers first. Ties are broken by the
// lower number.
func (h *Hub) Audiences(most int) []BoardAudience {
	counts := map[wamble.BoardID]int{}
	for _, w := range h.watchers {
		if w.state == focus {
			counts[w.board]++
		}
	}
	all := make([]BoardAudience, 0, len(counts))
	for id, n := range counts {
		all = append(all, BoardAudience{id, n})
	}
	slices.SortFunc(all, func(a, b BoardAudience) int {
		return cmp.Or(cmp.Compare(b.Watchers, a.Watchers), cmp.Compare(a.Board, b.Board))
	})
	return all[:min(most, len(all))]
}

// Shows reports whether the hub knows a board.
func (h *Hub) Shows(id wamble.BoardID) bool { return h.entries[id] != nil }

// Watched reports whether any watcher has the focus on a board.
func (h *Hub) Watched(id wamble.BoardID) bool {
	for _, w := range h.watchers {
		if w.state == focus && w.board == id {
			return true
		}
	}
	return false
}

func (h *Hub) tick(now time.Time) int64 {
	h.now = max(h.now, now.UnixMicro())
	return h.now
}

const (
	second      = int64(time.Second / time.Microsecond)
	millisecond = second / 1000
)

// openAfterLast is how long a hub without watchers stays open, since opening it scans every board.
const openAfterLast = 60 * second

// Next returns when Due must be called; false if it has nothing to do.
func (h *Hub) Next() (time.Time, bool) {
	switch {
	case len(h.watchers) > 0:
		return time.UnixMicro(h.nextTurn).UTC(), true
	case h.open:
		return time.UnixMicro(h.empty + openAfterLast).UTC(), true
	}
	return time.Time{}, false
}

// Due shows watchers what is due. It closes the hub after openAfterLast without watchers.
func (h *Hub) Due(now time.Time, profile Profile) {
	t := h.tick(now)
	h.numberChanges()
	if len(h.watchers) == 0 {
		if h.open && t >= h.empty+openAfterLast {
			h.close()
		}
		return
	}
	if t < h.nextTurn {
		return
	}
	h.nextTurn = t + h.turnEvery()
	h.total.refill(t, h.totalRate(), h.totalRate()/10)
	n, served := len(h.watchers), 0
	for ; served < n; served++ {
		w := h.watchers[(h.turn+served)%n]
		if w.ended {
			continue
		}
		if !h.serve(t, w, profile) {
			break // no packets are left for the others, who come first next time
		}
	}
	h.turn = (h.turn + served) % n
	h.sweep()
}

// turnEvery returns the time between two turns of the hub: the shortest period of a watcher, within
// bounds.
func (h *Hub) turnEvery() int64 {
	const shortest, longest = second / 100, second / 10
	every := min(h.period(summary), h.period(focus))
	return min(max(every, shortest), longest)
}

// period returns the time between two turns of a watcher.
func (h *Hub) period(s state) int64 {
	hz := h.opts.SummaryHz
	if s == focus {
		hz = h.opts.FocusHz
	}
	if hz <= 0 {
		return second
	}
	if h.slow {
		return slowness * second / int64(hz)
	}
	return second / int64(hz)
}

// Leave removes the watcher of a session that has ended.
func (h *Hub) Leave(id wamble.SessionID) {
	if w := h.bySession[id]; w != nil {
		w.ended = true
		h.sweep()
	}
}

// Rename gives a watcher the new token of its session.
func (h *Hub) Rename(id wamble.SessionID, token wamble.Token) {
	if w := h.bySession[id]; w != nil {
		w.token = token
	}
}

// sweep removes the watchers that are over.
func (h *Hub) sweep() {
	kept := h.watchers[:0]
	for i, w := range h.watchers {
		if !w.ended {
			kept = append(kept, w)
			continue
		}
		if i < h.turn {
			h.turn--
		}
		h.count(w, false)
		delete(h.bySession, w.session)
	}
	clear(h.watchers[len(kept):])
	h.watchers = kept
	if len(kept) == 0 {
		h.turn, h.empty = 0, h.now
	}
}

// count sets whether a watcher takes a place.
func (h *Hub) count(w *watcher, on bool) {
	if w.counts != on {
		w.counts = on
		if on {
			h.counted++
		} else {
			h.counted--
		}
	}
}
