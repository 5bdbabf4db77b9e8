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

// waitlist is the players for whom there is no board, in the order in which they have
// asked for one: who waits longest gets the next. Who has lost his connection has his
// place kept for a while, and is passed over. When it is full, the host with most players
// on it gives up a place to a player of another one.
type waitlist struct {
	order  list.List // of *waiter
	of     map[wamble.SessionID]*waiter
	absent int // how many of them have lost their connections
	shares share.Table[waiter]
}

type waiter struct {
	session wamble.SessionID
	kept    time.Time // until then his place is kept, though he is absent; zero: he is here
	share   share.Holding[waiter]
	at      *list.Element
}

// maxWaitlist bounds the list.
const maxWaitlist = 4096

// here returns how many wait and are here.
func (w *waitlist) here() int { return len(w.of) - w.absent }

// add puts a session at the end of the list, unless it is on it.
func (w *waitlist) add(now time.Time, id wamble.SessionID, host share.Host) {
	if n := w.of[id]; n != nil && (n.kept.IsZero() || now.Before(n.kept)) {
		if !n.kept.IsZero() {
			n.kept = time.Time{}
			w.absent--
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

// remove takes a session off the list, if it is on it.
func (w *waitlist) remove(id wamble.SessionID) {
	n := w.of[id]
	if n == nil {
		return
	}
	delete(w.of, id)
	w.absent -= int(one(!n.kept.IsZero()))
	w.shares.Remove(&n.share)
	w.order.Remove(n.at)
}

// lose notes that a session has lost its connection, and keeps its place until then.
func (w *waitlist) lose(id wamble.SessionID, until time.Time) {
	if n := w.of[id]; n != nil && n.kept.IsZero() {
		n.kept = until
		w.absent++
	}
}

// next takes the first who is here off the list, and those before him whose places are
// kept no longer; 0 if there is nobody.
func (w *waitlist) next(now time.Time) wamble.SessionID {
	for e := w.order.Front(); e != nil && w.here() > 0; {
		n := e.Value.(*waiter)
		e = e.Next()
		if here := n.kept.IsZero(); here || !now.Before(n.kept) {
			w.remove(n.session)
			if here {
				return n.session
			}
		}
	}
	return 0
}

// all yields who waits, first the one who has waited longest.
func (w *waitlist) all() iter.Seq[wamble.SessionID] {
	return func(yield func(wamble.SessionID) bool) {
		for e := w.order.Front(); e != nil && yield(e.Value.(*waiter).session); e = e.Next() {
		}
	}
}

// place returns the place of a session on the list, from 1; 0 if it is not on it.
func (w *waitlist) place(id wamble.SessionID) (place int64) {
	if n := w.of[id]; n != nil {
		for e := n.at; e != nil; e = e.Prev() {
			place++
		}
	}
	return place
}

// hasTurns reports whether somebody waits and there is a board for him.
func (p *Profile) hasTurns() bool {
	return p.waitlist.here() > 0 && (p.boards.Free() > 0 || p.boards.Len() < p.boards.Options().MaxBoards && p.leases.Left(wamble.BoardIDs) > 0)
}

// takeTurns gives the boards that are free to those who wait, and shows them. Whoever
// is no longer there loses his place.
func (p *Profile) takeTurns(out *Output) {
	for n := 0; n < fillAtOnce && p.hasTurns(); n++ {
		id := p.waitlist.next(p.clock.now)
		s := p.sessions.ByID(id)
		if s == nil || p.holds(id) || !p.isThere(s) {
			continue
		}
		b, _, err := p.seat(s) // a board is free, so nobody loses his
		if p.sealFor(s, out); err != nil {
			return
		}
		p.stats.Deals.Turns++
		p.pushUpdate(s, b, out)
	}
}

// isThere reports whether a player who waits would see a board: he was heard of lately,
// and is not somebody who said hello by a datagram and was not heard of since.
func (p *Profile) isThere(s *session.Session) bool {
	return (s.Stream() || !s.Fresh()) && p.link.Linked(s.Token()) && p.clock.now.Sub(s.Seen()) <= p.boards.Options().Away
}

// awaitBoard puts a player on the list for whom there is no board.
func (p *Profile) awaitBoard(s *session.Session) { p.waitlist.add(p.clock.now, s.ID(), s.Host()) }

// loseTurn passes over a player who has lost his connection until he returns, and keeps
// his place for as long as his board would be.
func (p *Profile) loseTurn(s *session.Session) {
	p.waitlist.lose(s.ID(), p.clock.now.Add(p.boards.Options().Disconnect))
}

// The section waitlist is who waits, first the one who has waited longest. It is empty if
// nobody does.
func saveWaitlist(p *Profile, dst []byte) ([]byte, error) {
	to := pack.Writer(dst)
	for id := range p.waitlist.all() {
		to.Uint(uint64(id))
	}
	return to, nil
}

func loadWaitlist(v *adoption, state []byte) error {
	r := pack.NewReader(state)
	for r.Left() > 0 && len(v.waitlist) < maxWaitlist {
		v.waitlist = append(v.waitlist, wamble.SessionID(r.Uint()))
	}
	return end(&r)
}
