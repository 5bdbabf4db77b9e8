package board

import (
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// intents is the memory of the pool's intents: Intents.Add retains none of them, so one of each kind is
// enough, and none is allocated.
type intents struct {
	create  intent.CreateBoard
	update  intent.UpdateBoard
	assign  intent.UpdateBoardAssignmentTime
	reserve intent.CreateReservation
	release intent.RemoveReservation
	move    intent.RecordMove
	result  intent.RecordGameResult
	send    intent.MoveBoard
	fens    fenWriter
	now     moment
}

// moment caches the last conversion of microseconds: most intents of a step have the same time.
type moment struct {
	us int64
	at time.Time
}

func (m *moment) of(us int64) time.Time {
	if m.us != us || us == 0 {
		m.us, m.at = us, timeOf(us)
	}
	return m.at
}

// The fields are set one by one: the compiler would build a whole intent on the stack and copy it, and the
// copy would wait for the stores.

// write adds an intent with the board as it is now, as a new version.
func (p *Pool) write(at int64, b *Board, out intent.Intents) {
	b.version++
	u := &p.intents.update
	u.Board, u.FEN, u.Status, u.Version, u.At = b.id, p.FEN(b), b.status, b.version, p.intents.now.of(at)
	out.Add(u)
}

// update is write of a board that has changed, and calls the observer.
func (p *Pool) update(at int64, b *Board, out intent.Intents) {
	p.write(at, b, out)
	if p.observer != nil {
		p.observer(b)
	}
}

func (p *Pool) recordMove(at int64, by wamble.SessionID, m chess.Move, s strength, done *Played, out intent.Intents) {
	r := &p.intents.move
	r.Board, r.Session, r.UCI = done.Board.id, by, uciOf(m)
	r.Ply, r.First, r.At = done.Ply, done.First, p.intents.now.of(at)
	r.Strength = uint8(s)
	out.Add(r)
}

// assigned adds the intents of a reservation.
func (p *Pool) assigned(at int64, b *Board, out intent.Intents) {
	a := &p.intents.assign
	a.Board, a.At = b.id, p.intents.now.of(at)
	out.Add(a)
	r := &p.intents.reserve
	r.Board, r.Session, r.White, r.At = b.id, b.holder, b.position.Turn() == chess.White, p.intents.now.of(at)
	r.Expires = timeOf(at + p.opts.Reservation.Microseconds())
	out.Add(r)
}

func (p *Pool) removeReservation(at int64, b *Board, out intent.Intents) {
	r := &p.intents.release
	r.Board, r.At = b.id, p.intents.now.of(at)
	out.Add(r)
}
