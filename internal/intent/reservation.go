package intent

import (
	"time"

	"wamble"
)

// CreateReservation makes a session the holder of a board, unless the board was assigned after At.
type CreateReservation struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	White   bool // the holder is to move for White
	At      time.Time
	Expires time.Time
}

func (*CreateReservation) Kind() Kind { return KindCreateReservation }

func (in *CreateReservation) code(c coder) coder {
	return c.board(&in.Board).session(&in.Session).bool(&in.White).time(&in.At).time(&in.Expires)
}

func (in *CreateReservation) check(c checker) checker {
	return c.board(in.Board).at(in.At).session(in.Session).at(in.Expires)
}

// RemoveReservation removes the holder of a board, unless the board was assigned after At.
type RemoveReservation struct {
	Board wamble.BoardID
	At    time.Time
}

func (*RemoveReservation) Kind() Kind { return KindRemoveReservation }

func (in *RemoveReservation) code(c coder) coder      { return c.board(&in.Board).time(&in.At) }
func (in *RemoveReservation) check(c checker) checker { return c.board(in.Board).at(in.At) }
