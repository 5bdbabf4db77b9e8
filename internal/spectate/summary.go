package spectate

// maxReliable is how many boards of a new summary are sent reliably; the others follow as updates. An
// address can have a hundred packets that wait for their ACK.
const maxReliable = 64

// maxSteps bounds the slots that one turn of a watcher scans.
const maxSteps = 4096

// begin begins a new summary, reliably: the reset, and the most recent boards.
func (h *Hub) begin(t int64, w *watcher, send func(packet []byte)) {
	h.renew(t, w)
	send(h.reset(w, true))
	most := min(h.refill(w)-1, maxReliable)
	n := 0
	w.seen.mid = h.walk(w, h.log.last, 0, most, &n, func(e *entry) { send(h.reliably(w, e, summary)) })
	h.spend(w, n+1)
}

// renew gives a watcher the next generation, in which everything is shown again.
func (h *Hub) renew(t int64, w *watcher) {
	h.generation = max(h.generation+1, t/millisecond) // higher than any before a restart
	w.seen.generation, w.seen.base = h.generation, h.log.last
	h.resetSeen(t, w)
}

// resetSeen makes all changes missing, so that everything is shown again.
func (h *Hub) resetSeen(t int64, w *watcher) {
	w.seen.low, w.seen.mid, w.seen.top = 0, h.log.last, h.log.last
	w.seen.refreshed = t
}

// walk shows the changes from from down to to (exclusive), the most recent first, until n is most. It
// returns the change down to which all is shown: to, if it has come so far.
func (h *Hub) walk(w *watcher, from, to uint64, most int, n *int, show func(*entry)) uint64 {
	l := &h.log
	steps := maxSteps
	for i := l.below(from) - 1; i >= 0 && l.slots[i].change > to; i-- {
		s := &l.slots[i]
		if steps--; *n >= most || steps == 0 {
			return s.change
		}
		if !s.stale() && w.sees(s.e) {
			*n++
			show(s.e)
		}
	}
	return to
}

// showSummary shows a watcher what is new, and then what is missing.
func (h *Hub) showSummary(t int64, w *watcher, profile Profile) {
	most := min(h.refill(w), profile.Room())
	if most <= 0 {
		return
	}
	n, once := 0, h.opts.SummaryHz <= 0
	show := func(e *entry) { profile.Send(w.token, h.shown(w, e, summary)) }
	if !once && h.wholeDue(t, w) {
		if h.opts.Full || h.log.lastRemoval > w.seen.base {
			h.renew(t, w)
			profile.Send(w.token, h.reset(w, false))
			n++
		} else {
			h.resetSeen(t, w)
		}
	}
	s := &w.seen
	if !once && h.log.last > s.top {
		stop := h.walk(w, h.log.last, s.top, most, &n, show)
		if s.mid <= s.low {
			s.low, s.mid = s.top, s.top
		}
		if stop > s.top {
			s.mid = stop
		}
		s.top = h.log.last
	}
	if s.mid > s.low {
		s.mid = h.walk(w, s.mid, s.low, most, &n, show)
	}
	h.spend(w, n)
	h.probe(t, w, profile)
}

// refreshEvery is how often everything is shown again, unless that would take more than a tenth of a
// watcher's rate.
const refreshEvery = 10 * second

// wholeDue reports whether everything must be shown again. A full summary is repeated as soon as the last
// is complete, if anything has changed.
func (h *Hub) wholeDue(t int64, w *watcher) bool {
	s := &w.seen
	if h.opts.Full && s.mid <= s.low && h.log.last > s.top {
		return true
	}
	return t-s.refreshed >= max(refreshEvery, 10*second*int64(h.log.live)/h.rate())
}

// probe sends a watcher of the summary a reliable packet, if one is due.
func (h *Hub) probe(t int64, w *watcher, profile Profile) {
	if t-w.times.probed < h.probeEvery() {
		return
	}
	w.times.probed = t
	h.spend(w, 1)
	n := 0
	h.walk(w, h.log.last, 0, 1, &n, func(e *entry) { profile.Send(w.token, h.reliably(w, e, summary)) })
	if n == 0 {
		profile.Send(w.token, h.reset(w, true))
	}
}
