package profile

import (
	"container/list"
	"iter"
	"time"

	"wamble"
	"wamble/internal/pack"
	"wamble/internal/session"
	"wamble/internal/share"
)

// waitlist is the players for whom there is no board, in order of arrival: the first gets the next board. A
// player who has lost the connection keeps their place for a while, and is passed over. When the list is
// full, the host with the most players on it gives up a place to a player of another host.
type waitlist struct {
	order       list.List // of *waiter
	of          map[wamble.SessionID]*waiter
	absentCount int // how many have lost their connection
	shares      share.Table[waiter]
}

type waiter struct {
	session   wamble.SessionID
	keptUntil time.Time // until then the place is kept without a connection; zero: connected
	share     share.Holding[waiter]
	at        *list.Element
}

// maxWaitlist bounds the list.
const maxWaitlist = 4096

// here returns how many waiting players are connected.
func (w *waitlist) here() int { return len(w.of) - w.absentCount }

// add appends a session, unless it is on the list.
func (w *waitlist) add(now time.Time, id wamble.SessionID, host share.Host) {
	if n := w.of[id]; n != nil && (n.keptUntil.IsZero() || now.Before(n.keptUntil)) {
		if !n.keptUntil.IsZero() {
			n.keptUntil = time.Time{}
			w.absentCount--
		}
		return
	}
	w.remove(id)
	if len(w.of) >= maxWaitlist {
		yields := w.shares.Yield(host)
		if yields == nil || yields.share.Host() == host {
			return
		}
		w.remove(yields.session)
	}
	if w.of == nil {
		w.of = map[wamble.SessionID]*waiter{}
	}
	n := &waiter{session: id}
	n.at, w.of[id] = w.order.PushBack(n), n
	w.shares.Add(&n.share, n, host)
}

// remove removes a session from the list, if it is on it.
func (w *waitlist) remove(id wamble.SessionID) {
	n := w.of[id]
	if n == nil {
		return
	}
	delete(w.of, id)
	w.absentCount -= int(one(!n.keptUntil.IsZero()))
	w.shares.Remove(&n.share)
	w.order.Remove(n.at)
}

// markAbsent records that a session has lost its connection, and keeps its place until the given time.
func (w *waitlist) markAbsent(id wamble.SessionID, until time.Time) {
	if n := w.of[id]; n != nil && n.keptUntil.IsZero() {
		n.keptUntil = until
		w.absentCount++
	}
}

// next removes and returns the first connected session, and removes the expired places before it; 0 if no
// connected session waits.
func (w *waitlist) next(now time.Time) wamble.SessionID {
	for e := w.order.Front(); e != nil && w.here() > 0; {
		n := e.Value.(*waiter)
		e = e.Next()
		if here := n.keptUntil.IsZero(); here || !now.Before(n.keptUntil) {
			w.remove(n.session)
			if here {
				return n.session
			}
		}
	}
	return 0
}

// all yields the sessions in order, the longest wait first.
func (w *waitlist) all() iter.Seq[wamble.SessionID] {
	return func(yield func(wamble.SessionID) bool) {
		for e := w.order.Front(); e != nil && yield(e.Value.(*waiter).session); e = e.Next() {
		}
	}
}

// place returns the place of a session on the list, from 1; 0 if it is not on the list.
func (w *waitlist) place(id wamble.SessionID) (place int64) {
	if n := w.of[id]; n != nil {
		for e := n.at; e != nil; e = e.Prev() {
			place++
		}
	}
	return place
}

// hasTurns reports whether a player waits and a board can be had.
func (p *Profile) hasTurns() bool {
	return p.waitlist.here() > 0 && (p.boards.Free() > 0 ||
		p.boards.Len() < p.boards.Options().MaxBoards && p.leases.Remaining(wamble.BoardIDs) > 0)
}

// takeTurns gives free boards to waiting players, and shows them. Players who are not there any more lose
// their place.
func (p *Profile) takeTurns(out *Output) {
	for n := 0; n < balanceAtOnce && p.hasTurns(); n++ {
		id := p.waitlist.next(p.clock.now)
		s := p.sessions.ByID(id)
		if s == nil || p.holds(id) || !p.isPresent(s) {
			continue
		}
		b, _, err := p.assignBoard(s) // a board is free, so none is taken from another player
		if p.sealFor(s, out); err != nil {
			return
		}
		p.stats.Deals.Turns++
		p.pushUpdate(s, b, out)
	}
}

// isPresent reports whether a waiting player would see a board: they have sent a packet recently, and did not
// only say hello by one datagram.
func (p *Profile) isPresent(s *session.Session) bool {
	return (s.Stream() || !s.Fresh()) && p.link.Linked(s.Token()) &&
		p.clock.now.Sub(s.Seen()) <= p.boards.Options().Away
}

// awaitBoard puts a player on the waitlist.
func (p *Profile) awaitBoard(s *session.Session) { p.waitlist.add(p.clock.now, s.ID(), s.Host()) }

// loseTurn passes over a player who has lost the connection until they return, and keeps the place for as
// long as a board would be kept.
func (p *Profile) loseTurn(s *session.Session) {
	p.waitlist.markAbsent(s.ID(), p.clock.now.Add(p.boards.Options().Disconnect))
}

// saveWaitlist writes the waiting sessions, the longest wait first.
func saveWaitlist(p *Profile, dst []byte) ([]byte, error) {
	to := pack.Writer(dst)
	for id := range p.waitlist.all() {
		to.Uint(uint64(id))
	}
	return to, nil
}

func loadWaitlist(p *Profile, state []byte) error {
	r := pack.NewReader(state)
	for r.Remaining() > 0 {
		if s := p.sessions.ByID(wamble.SessionID(r.Uint())); s != nil {
			p.awaitBoard(s)
			if _, ok := p.link.Home(s.Token()); !ok {
				p.loseTurn(s)
			}
		}
	}
	return sliceError(&r)
}
