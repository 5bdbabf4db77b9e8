package board

import (
	"fmt"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// Damaged is returned for a stored board that cannot be played on as it is.
type Damaged struct {
	Board  wamble.BoardID
	Reason string
}

func (e *Damaged) Error() string { return fmt.Sprintf("board %d: %s", e.Board, e.Reason) }

// Restore puts a stored board into the pool at the start of a profile: held, if its reservation has not
// expired; otherwise free, and asleep until players need it (Balance). Intents end a reservation that
// cannot continue. A board whose game is over, by a limit that was lowered or in a foreign database, is
// left to EndOver.
//
// The moves are replayed, and must lead from the start of the board's variant to its FEN. If they do not
// (foreign databases may count otherwise), the error is a *Damaged, and the board can be restored without
// its moves, from its FEN alone.
func (p *Pool) Restore(now time.Time, stored *wamble.Board, out intent.Intents) error {
	t := p.tick(now)
	b, err := revive(stored)
	if err != nil {
		return err
	}
	if p.boards[b.id] != nil {
		return &Damaged{b.id, "it is in the pool already"}
	}
	if p.ending(b) != nil {
		b.status = wamble.Dormant
		p.over = append(p.over, b)
		return nil
	}
	if h := stored.Holder; b.status == wamble.Reserved && p.honours(t, h) {
		p.insert(b)
		p.setHolder(b, h.Session, !h.Key.IsZero())
		// No holder could be heard while the server was down, and none is here yet.
		p.setHolderAway(b, true)
		b.times.reserved, b.times.lastSeen = min(micros(h.At), t), t // the wall clock may have been set back
		p.setAlarm(b)
		return nil
	}
	wasReserved := b.status == wamble.Reserved
	changed := wasReserved || b.status == wamble.Active && b.times.moved == 0
	if changed {
		b.status = wamble.Dormant
	}
	p.addAsleep(b)
	if changed {
		p.update(t, b, out)
	}
	if wasReserved || stored.Holder != nil {
		p.removeReservation(t, b, out)
	}
	if at, ok := p.deadline(b); ok {
		p.deadlines.sooner(b, at)
	}
	return nil
}

// Over returns the board that was restored last and whose game is over, nil if there is none. It is not in
// the pool.
func (p *Pool) Over() *Board {
	if len(p.over) == 0 {
		return nil
	}
	return p.over[len(p.over)-1]
}

// EndOver ends the game of the board that Over returns, as a move would have done.
func (p *Pool) EndOver(now time.Time, out intent.Intents) *Finished {
	t, b := p.tick(now), p.Over()
	p.over = p.over[:len(p.over)-1]
	e := p.ending(b)
	if e == nil {
		e = &ending{wamble.Draw, reasonMaxMoves} // the limit was raised meanwhile
	}
	p.insert(b)
	return p.archive(t, b, *e, out)
}

// honours reports whether a reservation makes its session the holder again.
func (p *Pool) honours(now int64, h *wamble.Reservation) bool {
	return h != nil && h.Session > 0 && h.Session <= maxSession && micros(h.Expires) > now &&
		p.holders[h.Session] == nil
}

// maxPlies exceeds the moves of any game: the counters of a position stop there.
const maxPlies = 19996

// revive makes a Board from a stored one.
func revive(stored *wamble.Board) (*Board, error) {
	position, err := chess.ParseFEN(stored.FEN)
	switch {
	case err != nil:
		return nil, &Damaged{stored.ID, "its FEN is wrong " + err.Error()}
	case stored.ID == 0:
		return nil, &Damaged{stored.ID, "it has no number"}
	case stored.Status > wamble.Dormant:
		return nil, &Damaged{stored.ID, "it is archived"}
	case stored.Variant < -1 || stored.Variant > 959:
		return nil, &Damaged{stored.ID, "there is no such variant"}
	case len(stored.Moves) > maxPlies:
		return nil, &Damaged{stored.ID, "it has too many moves"}
	}
	b := &Board{id: stored.ID, version: stored.Version, variant: stored.Variant, status: stored.Status}
	b.times.created = micros(stored.Created)
	if !stored.LastAssigned.IsZero() {
		b.times.assigned = micros(stored.LastAssigned)
	}
	b.position = position
	if len(stored.Moves) > 0 {
		b.position = startOf(b.variant)
	}
	b.remember()
	for i, m := range stored.Moves {
		if err := b.replay(i+1, m); err != nil {
			return nil, err
		}
	}
	if b.position != position {
		return nil, &Damaged{b.id, "its moves lead to " + b.position.FEN() + ", not to its FEN"}
	}
	return b, nil
}

// replay replays a stored move.
func (b *Board) replay(ply int, m wamble.Move) error {
	move, err := b.position.ParseUCI(m.UCI)
	switch {
	case m.Ply != ply:
		return &Damaged{b.id, fmt.Sprintf("move %d is numbered %d", ply, m.Ply)}
	case err != nil:
		return &Damaged{b.id, fmt.Sprintf("move %d: %v", ply, err)}
	case m.Session <= 0 || m.Session > maxSession:
		return &Damaged{b.id, fmt.Sprintf("move %d is by nobody", ply)}
	}
	b.times.moved = micros(m.At)
	by := Mover{Session: m.Session, Player: m.Player, Rating: -1, Program: m.Bot}
	if m.Handle != "" {
		by.Rating = m.Rating
	}
	b.add(b.times.moved, by.packed(), move)
	return nil
}
