package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

// restoreBoard puts a stored board into the pool. A board whose moves do not
// lead to its position is played on from the position.
func (p *Profile) restoreBoard(stored *wamble.Board, with *Answer, out *Output) {
	err := p.boards.Restore(p.clock.now, stored, &p.draft)
	var damaged *board.Damaged
	if errors.As(err, &damaged) && len(stored.Moves) > 0 {
		p.trouble(err, out)
		bare := *stored
		bare.Moves = nil
		err = p.boards.Restore(p.clock.now, &bare, &p.draft)
	}
	if err != nil {
		p.trouble(err, out)
		return
	}
	if with != nil {
		p.restorePredictions(stored.ID, with.Predictions)
	}
}

func (p *Profile) trouble(err error, out *Output) {
	p.stats.Damaged++
	out.Troubles = append(out.Troubles, err)
}

// restoreSession takes in the holder of a restored board. If his session is
// over, his board is free.
func (p *Profile) restoreSession(stored *wamble.Session) {
	_, err := p.sessions.Restore(p.clock.now, stored, nil)
	if errors.Is(err, session.ErrOver) {
		p.boards.Leave(p.clock.now, stored.ID, &p.draft)
	}
}
