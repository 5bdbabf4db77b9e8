package intent

import (
	"time"

	"wamble"
)

// RecordMove adds a move to a game. Another move for the same ply is refused.
type RecordMove struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	UCI     string
	Ply     int  // 1 for White's first move, 2 for Black's answer
	First   bool // the session's first move on this board
	At      time.Time
	// Strength is the rating of the mover in the form of the board; stores ignore it.
	Strength uint8
}

func (*RecordMove) Kind() Kind { return KindRecordMove }

func (in *RecordMove) code(c coder) coder {
	return c.board(&in.Board).session(&in.Session).text(&in.UCI).small(&in.Ply).bool(&in.First).time(&in.At).added(&in.Strength)
}

func (in *RecordMove) check(c checker) checker {
	return c.board(in.Board).at(in.At).session(in.Session).move(in.UCI, in.Ply)
}

func (in *RecordMove) locality() (major, minor uint64) { return uint64(in.Board), uint64(in.Ply) }

// RecordLastMoveShown says that a session was shown the last move of a board.
type RecordLastMoveShown struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	UCI     string
	At      time.Time
}

func (*RecordLastMoveShown) Kind() Kind { return KindRecordLastMoveShown }

func (in *RecordLastMoveShown) code(c coder) coder {
	return c.board(&in.Board).session(&in.Session).text(&in.UCI).time(&in.At)
}

func (in *RecordLastMoveShown) check(c checker) checker {
	return c.board(in.Board).at(in.At).session(in.Session).text("uci", in.UCI, 1, maxUCI)
}
