package profile

import (
	"container/list"
	"iter"

	"wamble"
	"wamble/internal/pack"
	"wamble/internal/session"
	"wamble/internal/share"
)

// waitlist is the players for whom there is no board, in the order in which they have
// asked for one: who waits longest gets the next. When it is full, the host with most
// players on it gives up a place to a player of another one.
type waitlist struct {
	order  list.List // of *waiter
	of     map[wamble.SessionID]*waiter
	shares share.Table[waiter]
}

type waiter struct {
	session wamble.SessionID
	share   share.Holding[waiter]
	at      *list.Element
}

// maxWaitlist bounds the list.
const maxWaitlist = 4096

// add puts a session at the end of the list, unless it is on it.
func (w *waitlist) add(id wamble.SessionID, host share.Host) {
	if w.of[id] != nil {
		return
	}
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
	w.shares.Remove(&n.share)
	w.order.Remove(n.at)
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
	return len(p.waitlist.of) > 0 && (p.boards.Free() > 0 || p.boards.Len() < p.boards.Options().MaxBoards && p.leases.Left(wamble.BoardIDs) > 0)
}

// takeTurns gives the boards that are free to those who wait, and shows them. Whoever
// is no longer there loses his place.
func (p *Profile) takeTurns(out *Output) {
	for n := 0; n < fillAtOnce && p.hasTurns(); n++ {
		id := p.waitlist.order.Front().Value.(*waiter).session
		p.waitlist.remove(id)
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
func (p *Profile) awaitBoard(s *session.Session) { p.waitlist.add(s.ID(), s.Host()) }

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
