package spectate

import (
	"time"

	"wamble"
)

// Viewer is a session that asks to watch, and its rights.
type Viewer struct {
	Session  wamble.SessionID
	Token    wamble.Token
	Trust    int
	LastSeen time.Time // last sign of life
	// Summary and Focus say what the policy lets it watch, Bypass that it needs no place for a focus, Modes
	// that it may see which boards are Chess960.
	Summary, Focus, Bypass, Modes bool
}

// Request is what a guest asks to watch.
type Request struct {
	Board  wamble.BoardID // 0: the summary of all boards
	Filter Filter
}

// The refusals.
var (
	errHidden      = &wamble.Denied{Code: wamble.SpectateDenied}
	errBusy        = &wamble.Denied{Code: wamble.SpectateBusy}
	errFull        = &wamble.Denied{Code: wamble.SpectateFull}
	errNoFocus     = &wamble.Denied{Code: wamble.AccessDenied}
	errUnavailable = &wamble.Denied{Code: wamble.SpectateUnavailable}
)

// mayWatch reports whether a guest may watch at all.
func (h *Hub) mayWatch(g *Viewer, s state) bool {
	may := g.Summary
	if s == focus {
		may = g.Focus
	}
	return may && g.Trust >= h.opts.Visibility
}

// bypasses reports whether a guest needs no place.
func (h *Hub) bypasses(g *Viewer, s state) bool {
	return s == focus && (g.Bypass || h.opts.AdminTrust >= 0 && g.Trust >= h.opts.AdminTrust)
}

// Watch admits a guest, and calls reply with the packets of the answer. What the guest has watched until
// now ends only if they are admitted. The error is a *wamble.Denied: the guest may not watch (1002), there
// are too many watchers (1003), all places are taken (1004), there is no focus (1001), or the board is
// unknown (1005).
func (h *Hub) Watch(now time.Time, g Viewer, request Request, reply func(packet []byte)) error {
	t := h.tick(now)
	h.numberChanges()
	s := summary
	if request.Board != 0 {
		s = focus
	}
	w, e := h.bySession[g.Session], h.entries[request.Board]
	if err := h.admits(&g, s, w, e); err != nil {
		return err
	}
	if w == nil {
		w = &watcher{session: g.Session, token: g.Token}
		w.allowance.at = t - second // full at the first fill
		h.bySession[g.Session] = w
		h.watchers = append(h.watchers, w)
		if len(h.watchers) == 1 {
			h.nextTurn = t
			h.total.refill(t, h.totalRate(), h.totalRate()/10)
		}
	}
	h.count(w, !h.bypasses(&g, s))
	w.state, w.board, w.filter, w.modes = s, request.Board, AllBoards, g.Modes
	if g.Modes {
		w.filter = request.Filter
	}
	w.times = times{next: t + h.period(s), check: t + checkEvery, lastSeen: t, shown: t, probed: t}
	if s == focus {
		w.seen.top = e.change
		h.spend(w, 1)
		reply(h.reliably(w, e, focus))
		return nil
	}
	h.begin(t, w, reply)
	return nil
}

// admits returns why a guest is not admitted, or nil.
func (h *Hub) admits(g *Viewer, s state, w *watcher, e *entry) error {
	others := h.counted
	if w != nil && w.counts {
		others--
	}
	switch {
	case !h.mayWatch(g, s):
		return errHidden
	case w == nil && len(h.watchers) >= h.opts.Records:
		return errBusy
	case h.opts.Max >= 0 && others >= h.opts.Max && !h.bypasses(g, s):
		return errFull
	case s == focus && !h.opts.Focus:
		return errNoFocus
	case s == focus && (e == nil || e.removed):
		return errUnavailable
	}
	return nil
}

// Stop ends the watching of a session, and calls reply with the packet of the answer.
func (h *Hub) Stop(g Viewer, reply func(packet []byte)) {
	h.Leave(g.Session)
	reply(h.idle(&watcher{token: g.Token}))
}

// stop tells a watcher that spectators are not admitted any more.
func (h *Hub) stop(w *watcher, profile Profile) {
	profile.Send(w.token, h.idle(w))
	profile.Send(w.token, h.notice(w, stopped, "spectators are not admitted at present"))
	h.spend(w, 2)
}
