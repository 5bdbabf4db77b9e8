package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

// RestoreBoard is a stored board, at the start, with its predictions. Its holder becomes a player. If its
// moves do not lead to its position, the game goes on from the position without them. A game that is over
// is ended after the start.
type RestoreBoard struct {
	Board       wamble.Board
	Predictions []wamble.Prediction
}

func (in *RestoreBoard) apply(p *Profile, out *Output) {
	stored := p.clock.boardFromStore(in.Board)
	err := p.boards.Restore(p.clock.now, stored, &p.frame)
	var damaged *board.Damaged
	if errors.As(err, &damaged) && len(stored.Moves) > 0 {
		p.trouble(err, out)
		bare := *stored
		bare.Moves = nil
		err = p.boards.Restore(p.clock.now, &bare, &p.frame)
	}
	if err != nil {
		p.trouble(err, out)
		return
	}
	b := p.boards.Board(stored.ID)
	if b == nil {
		b = p.boards.Over()
	}
	p.restorePredictions(b, in.Predictions)
}

func (p *Profile) trouble(err error, out *Output) {
	p.stats.Damaged++
	out.Troubles = append(out.Troubles, err)
}

// RestoreSession is the stored session of a player who holds a board, at the start, with its identity and
// its acceptance of the terms in Answer. If the session has ended, the board becomes free.
type RestoreSession struct {
	Session wamble.Session
	Answer  *Answer
}

func (in *RestoreSession) apply(p *Profile, _ *Output) {
	s, err := p.sessions.Restore(p.clock.now, p.clock.fromStore(in.Session), in.Answer.player())
	if errors.Is(err, session.ErrEnded) {
		p.boards.Leave(p.clock.now, in.Session.ID, &p.frame)
	}
	if s != nil && in.Answer != nil && p.TermsHash() != ([32]byte{}) {
		s.SetTerms(session.RevisionOf(p.policy.Own.Terms.Hash), in.Answer.Accepted)
	}
}
