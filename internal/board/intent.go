package board

import "wamble"

// intents is the memory of what the pool says: Add is done with an intent when
// it returns, so one of each kind is enough.
type intents struct {
	create  wamble.CreateBoard
	update  wamble.UpdateBoard
	assign  wamble.UpdateBoardAssignmentTime
	reserve wamble.CreateReservation
	release wamble.RemoveReservation
	move    wamble.RecordMove
	result  wamble.RecordGameResult
}

// update says what a board is now, as a new version.
func (p *Pool) update(at int64, b *Board, out wamble.Intents) {
	b.version++
	p.intents.update = wamble.UpdateBoard{Board: b.id, FEN: b.FEN(), Status: b.status, Version: b.version, At: timeOf(at)}
	out.Add(&p.intents.update)
	if p.observer != nil {
		p.observer(b)
	}
}

func (p *Pool) removeReservation(at int64, b *Board, out wamble.Intents) {
	p.intents.release = wamble.RemoveReservation{Board: b.id, At: timeOf(at)}
	out.Add(&p.intents.release)
}
