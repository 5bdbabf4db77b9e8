package spectate

import (
	"cmp"
	"slices"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// Options is what a profile's config says about spectators.
type Options struct {
	// Max is how many may watch, -1 any number; Records how many the hall
	// remembers at most.
	Max, Records int
	// AdminTrust is the trust from which a focus is allowed though all places
	// are taken; negative: none. Visibility is the trust that watching needs.
	AdminTrust, Visibility int
	// SummaryHz and FocusHz are how often a second a watcher is shown what is
	// new; 0: only once.
	SummaryHz, FocusHz int
	// Focus says that single boards may be watched.
	Focus bool
	// Full repeats the whole summary each time, instead of what has changed.
	Full bool
	// PerWatcher and Total bound the packets a second of one watcher, and of all
	// together; 0: no bound.
	PerWatcher, Total int
	// Idle is how long a watcher who is not heard of is remembered.
	Idle time.Duration
}

// Profile is what a hall needs of the profile around it.
type Profile interface {
	// Send sends a packet to the address of a token, and reports whether there is
	// one. It is done with the bytes when it returns.
	Send(token wamble.Token, packet []byte) bool
	// Room is how many packets can be sent now.
	Room() int
	// Guest returns a session as it is now; false: it is not here any more.
	Guest(id wamble.SessionID) (Guest, bool)
}

// Hall is all watchers of a profile, and all boards that they can see. It belongs
// to one goroutine.
type Hall struct {
	opts       Options
	now        int64 // microseconds since 1970
	open       bool  // it is told of every change of a board
	slow       bool
	entries    map[wamble.BoardID]*entry
	log        log
	watchers   []*watcher
	bySession  map[wamble.SessionID]*watcher
	counted    int   // watchers who take a place
	turn       int   // index of the watcher who is served first
	nextTurn   int64 // when Due serves the watchers
	generation int64 // of the newest summary
	empty      int64 // since when nobody watches
	total      bucket
	bytes      scratch
}

// scratch is memory for packets.
type scratch struct {
	copy, extra []byte
	fen         [chess.MaxFEN]byte
	fields      [6]wire.Field
}

// New returns a hall without watchers. It is closed: it is not told of boards.
func New(opts Options) *Hall {
	return &Hall{opts: opts, entries: map[wamble.BoardID]*entry{}, bySession: map[wamble.SessionID]*watcher{}}
}

// Reconfigure changes the options. Who may no longer watch is told by the next
// Due.
func (h *Hall) Reconfigure(opts Options) {
	h.opts = opts
	for _, w := range h.watchers {
		w.times.check = 0
	}
}

// Slow sends everything a quarter as often, until Slow is called with false.
func (h *Hall) Slow(on bool) { h.slow = on }

// slowness is the factor of Slow.
const slowness = 4

// SetMax changes how many may watch; who watches goes on.
func (h *Hall) SetMax(n int) { h.opts.Max = n }

// Counted returns how many take a place.
func (h *Hall) Counted() int { return h.counted }

// Len returns how many watch.
func (h *Hall) Len() int { return len(h.watchers) }

// Crowd is a board and how many watch it alone.
type Crowd struct {
	Board    wamble.BoardID
	Watchers int
}

// Crowds returns the boards that most watch, at most so many, the largest crowd first and
// of equal ones the lowest number.
func (h *Hall) Crowds(most int) []Crowd {
	counts := map[wamble.BoardID]int{}
	for _, w := range h.watchers {
		if w.state == focus {
			counts[w.board]++
		}
	}
	all := make([]Crowd, 0, len(counts))
	for id, n := range counts {
		all = append(all, Crowd{id, n})
	}
	slices.SortFunc(all, func(a, b Crowd) int {
		return cmp.Or(cmp.Compare(b.Watchers, a.Watchers), cmp.Compare(a.Board, b.Board))
	})
	return all[:min(most, len(all))]
}

// Shows reports whether a board can be watched.
func (h *Hall) Shows(id wamble.BoardID) bool { return h.entries[id] != nil }

// Watched reports whether somebody watches a board alone.
func (h *Hall) Watched(id wamble.BoardID) bool {
	for _, w := range h.watchers {
		if w.state == focus && w.board == id {
			return true
		}
	}
	return false
}

func (h *Hall) tick(now time.Time) int64 {
	h.now = max(h.now, now.UnixMicro())
	return h.now
}

const (
	second      = int64(time.Second / time.Microsecond)
	millisecond = second / 1000
)

// staysOpen is how long a hall without watchers is told of boards: opening it
// means to look at every board.
const staysOpen = 60 * second

// Next returns when Due is to be called; false when it has nothing to do.
func (h *Hall) Next() (time.Time, bool) {
	switch {
	case len(h.watchers) > 0:
		return time.UnixMicro(h.nextTurn).UTC(), true
	case h.open:
		return time.UnixMicro(h.empty + staysOpen).UTC(), true
	}
	return time.Time{}, false
}

// Due shows watchers what is due. The hall closes when nobody has watched for a
// while.
func (h *Hall) Due(now time.Time, profile Profile) {
	t := h.tick(now)
	h.settle()
	if len(h.watchers) == 0 {
		if h.open && t >= h.empty+staysOpen {
			h.close()
		}
		return
	}
	if t < h.nextTurn {
		return
	}
	h.nextTurn = t + h.turnEvery()
	h.total.fill(t, h.totalRate(), h.totalRate()/10)
	n, served := len(h.watchers), 0
	for ; served < n; served++ {
		w := h.watchers[(h.turn+served)%n]
		if w.over {
			continue
		}
		if !h.serve(t, w, profile) {
			break // nothing is left for the others: they come first next time
		}
	}
	h.turn = (h.turn + served) % n
	h.sweep()
}

// turnEvery is the time between two turns of the hall: as short as the shortest
// period of a watcher.
func (h *Hall) turnEvery() int64 {
	const shortest, longest = second / 100, second / 10
	every := min(h.period(summary), h.period(focus))
	return min(max(every, shortest), longest)
}

// period is the time between two turns of a watcher.
func (h *Hall) period(s state) int64 {
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

// Leave forgets the watcher of a session that has ended.
func (h *Hall) Leave(id wamble.SessionID) {
	if w := h.bySession[id]; w != nil {
		w.over = true
		h.sweep()
	}
}

// Rename says that a session has another token.
func (h *Hall) Rename(id wamble.SessionID, token wamble.Token) {
	if w := h.bySession[id]; w != nil {
		w.token = token
	}
}

// sweep removes the watchers who are over.
func (h *Hall) sweep() {
	kept := h.watchers[:0]
	for i, w := range h.watchers {
		if !w.over {
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

// count says whether a watcher takes a place.
func (h *Hall) count(w *watcher, on bool) {
	if w.counts != on {
		w.counts = on
		if on {
			h.counted++
		} else {
			h.counted--
		}
	}
}
