package spectate

// repeatEvery is how soon an unchanged focus is shown again, since the last packet may have been lost.
const repeatEvery = second

// showFocus shows a watcher their board, if it has changed. A board that is gone is shown in its last
// state.
func (h *Hub) showFocus(t int64, w *watcher, profile Profile) {
	e := h.entries[w.board]
	gone := e == nil || e.removed
	changed := e != nil && e.change > w.seen.top
	repeated := t-w.times.shown >= repeatEvery && h.opts.FocusHz > 0
	if e != nil && (changed && (gone || h.opts.FocusHz > 0) || repeated && !gone) && h.refill(w) > 0 {
		w.seen.top, w.times.shown = e.change, t
		h.spend(w, 1)
		profile.Send(w.token, h.shown(w, e, focus))
	}
	if gone {
		h.endFocus(t, w, profile, "the board is over or asleep; you see all boards")
		return
	}
	if t-w.times.probed >= h.probeEvery() {
		w.times.probed = t
		h.spend(w, 1)
		profile.Send(w.token, h.reliably(w, e, focus))
	}
}

// endFocus turns a focus into a summary, and tells the watcher why.
func (h *Hub) endFocus(t int64, w *watcher, profile Profile, why string) {
	notice := h.notice(w, focusEnded, why)
	profile.Send(w.token, notice)
	w.state, w.board, w.filter = summary, 0, AllBoards
	h.count(w, true)
	w.times.next, w.times.probed = t+h.period(summary), t
	h.spend(w, 1)
	h.begin(t, w, func(packet []byte) { profile.Send(w.token, packet) })
}
