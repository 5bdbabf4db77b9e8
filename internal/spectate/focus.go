package spectate

// repeatEvery is how soon a focus that has not changed is shown again: the last
// packet may have been lost.
const repeatEvery = second

// showFocus shows a watcher his board, if it has changed. A board that is gone is
// shown as it was in the end.
func (h *Hall) showFocus(t int64, w *watcher, house House) {
	e := h.entries[w.board]
	gone := e == nil || e.gone
	changed := e != nil && e.change > w.seen.top
	repeated := t-w.times.shown >= repeatEvery && h.opts.FocusHz > 0
	if e != nil && (changed && (gone || h.opts.FocusHz > 0) || repeated && !gone) && h.refill(w) > 0 {
		w.seen.top, w.times.shown = e.change, t
		h.spend(w, 1)
		house.Send(w.token, h.shown(w, e, focus))
	}
	if gone {
		h.fallBack(t, w, house, "the board is over or asleep; you see all boards")
		return
	}
	if t-w.times.vowed >= h.vowEvery() {
		w.times.vowed = t
		h.spend(w, 1)
		house.Send(w.token, h.reliably(w, e, focus))
	}
}
