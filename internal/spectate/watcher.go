package spectate

import "wamble"

// state is what a watcher sees.
type state uint8

const (
	summary state = iota + 1
	focus
)

// Filter selects the boards of a summary.
type Filter uint8

// The filters of a summary.
const (
	AllBoards Filter = iota
	Chess960Boards
	StandardBoards
)

// watcher is one session that watches.
type watcher struct {
	session   wamble.SessionID
	token     wamble.Token
	state     state
	filter    Filter         // of a summary
	board     wamble.BoardID // of a focus
	modes     bool           // may see which boards are Chess960
	counts    bool           // takes a place
	ended     bool           // to be removed
	seen      seen
	times     times
	allowance bucket
}

// seen is what a watcher has been shown: see the package comment.
type seen struct {
	generation    int64
	low, mid, top uint64
	base          uint64 // boards that went up to this change were never seen, or are cleared
	refreshed     int64  // when everything was last shown again
}

// times are when something last happened to a watcher, or is due.
type times struct {
	next     int64 // the next turn
	check    int64 // when check is due
	lastSeen int64
	shown    int64 // the focus
	probed   int64 // when the last reliable packet was sent
}

// sees reports whether a summary of the watcher includes a board.
func (w *watcher) sees(e *entry) bool {
	switch {
	case e.removed && e.change <= w.seen.base:
		return false
	case w.filter == Chess960Boards:
		return e.board.Chess960
	case w.filter == StandardBoards:
		return !e.board.Chess960
	}
	return true
}

// checkEvery is how often a watcher is checked.
const checkEvery = second

// serve gives a watcher a turn, if it is due. It reports false if no packet can be sent now to any watcher.
func (h *Hub) serve(t int64, w *watcher, profile Profile) bool {
	if t >= w.times.check {
		w.times.check = t + checkEvery
		if !h.check(t, w, profile) {
			w.ended = true
			return true
		}
	}
	if t < w.times.next {
		return true
	}
	if h.total.packets() == 0 || profile.Room() <= 0 {
		return false
	}
	period := h.period(w.state)
	if w.times.next += period; w.times.next <= t {
		w.times.next = t + period
	}
	if w.state == focus {
		h.showFocus(t, w, profile)
	} else {
		h.showSummary(t, w, profile)
	}
	return true
}

// check reports whether a watcher is still here and may go on watching.
func (h *Hub) check(t int64, w *watcher, profile Profile) bool {
	g, ok := profile.Viewer(w.session)
	if !ok || !h.mayWatch(&g, w.state) {
		return false
	}
	w.modes = g.Modes
	w.times.lastSeen = max(w.times.lastSeen, g.LastSeen.UnixMicro())
	if t-w.times.lastSeen > h.opts.Idle.Microseconds() {
		return false
	}
	if h.opts.Max == 0 && !h.bypasses(&g, w.state) {
		h.stop(w, profile)
		return false
	}
	if w.state == focus && !h.opts.Focus {
		h.endFocus(t, w, profile, "single boards are not shown any more; you see all of them")
	}
	return true
}

// probeEvery returns how often a watcher is sent a reliable packet, whose ACK shows that they are still
// here.
func (h *Hub) probeEvery() int64 { return h.opts.Idle.Microseconds() / 3 }
