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
func (p *Profile) restoreSession(in *Input) {
	s, err := p.sessions.Restore(p.clock.now, in.Session, in.player())
	if errors.Is(err, session.ErrOver) {
		p.boards.Leave(p.clock.now, in.Session.ID, &p.draft)
	}
	if s != nil && in.Answer != nil && p.TermsHash() != ([32]byte{}) {
		s.SetTerms(p.mode.law.own.terms.revision, in.Answer.Accepted)
	}
}
