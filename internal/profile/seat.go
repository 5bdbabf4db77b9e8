package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

var (
	errNoBoard = &wamble.Denied{Code: wamble.UnknownBoard, Reason: "no board available for assignment", Blocking: true}
	errNoID    = &wamble.Denied{Code: wamble.Internal, Reason: "no number is left for a new board"}
)

// deniedOf is what a player is told of an error.
func deniedOf(err error) *wamble.Denied {
	var denied *wamble.Denied
	switch {
	case errors.As(err, &denied):
		return denied
	case errors.Is(err, board.ErrNoBoard):
		return errNoBoard
	case errors.Is(err, board.ErrNoID):
		return errNoID
	}
	return &wamble.Denied{Code: wamble.Internal, Reason: "internal error"}
}

// seat makes sure that a session holds a board. It returns the board, and the
// reservation that was revoked to free it, if any.
func (p *Profile) seat(s *session.Session) (*board.Board, board.Released, error) {
	stats := p.sessions.Stats(s)
	got, err := p.boards.Assign(p.clock.now, board.Player{
		Session: s.ID(), Identity: s.Identity() != nil,
		Games: stats.Games, Chess960Games: stats.Chess960Games, Left: s.Left(),
	}, &p.draft)
	if err != nil {
		p.stats.NoBoard++
	}
	return got.Board, got.Taken, err
}

// hear notes that a session was heard of now.
func (p *Profile) hear(s *session.Session) {
	if p.sessions.Heard(p.clock.now, s, &p.seen) {
		p.boards.Heard(p.clock.now, s.ID())
	}
}

// isHere reports whether the player of a session was heard of lately.
func (p *Profile) isHere(s *session.Session) bool {
	return !s.Fresh() && p.clock.now.Sub(s.Seen()) < sessionOptions(p.cfg).Away
}

// holds reports whether a session holds a board.
func (p *Profile) holds(id wamble.SessionID) bool { return p.boards.Held(id) != nil }
