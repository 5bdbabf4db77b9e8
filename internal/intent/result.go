package intent

import (
	"math"
	"time"

	"wamble"
)

// RecordGameResult ends a game.
type RecordGameResult struct {
	Board    wamble.BoardID
	Result   wamble.Result
	Plies    int
	Duration time.Duration
	Reason   string // at most 31 bytes, such as "checkmate"
	At       time.Time
}

func (*RecordGameResult) Kind() Kind { return KindRecordGameResult }

// code reads a negative duration as 0: older binaries wrote one when the clock had been set back across a
// restart.
func (in *RecordGameResult) code(c coder) coder {
	c = c.board(&in.Board).octet((*uint8)(&in.Result)).small(&in.Plies).int((*int64)(&in.Duration)).text(&in.Reason).time(&in.At)
	if c.read {
		in.Duration = max(0, in.Duration)
	}
	return c
}

func (in *RecordGameResult) check(c checker) checker {
	return c.board(in.Board).at(in.At).number(in.Result <= wamble.Draw, "result", int64(in.Result)).
		number(in.Plies >= 0 && in.Plies <= math.MaxInt32, "number of plies", int64(in.Plies)).
		number(in.Duration >= 0, "duration", int64(in.Duration)).text("reason", in.Reason, 0, maxReason)
}

// RecordPayout gives a session its share of a pot.
type RecordPayout struct {
	Board     wamble.BoardID
	Session   wamble.SessionID
	Points    float64 // with four decimals
	Canonical float64 // the share before any adjustment
	At        time.Time
}

func (*RecordPayout) Kind() Kind { return KindRecordPayout }

func (in *RecordPayout) code(c coder) coder {
	return c.board(&in.Board).session(&in.Session).float(&in.Points).float(&in.Canonical).time(&in.At)
}

func (in *RecordPayout) check(c checker) checker {
	return c.board(in.Board).at(in.At).session(in.Session).decimal("points", in.Points).decimal("canonical points",
		in.Canonical)
}

func (in *RecordPayout) locality() (major, minor uint64) { return uint64(in.Board), uint64(in.Session) }
