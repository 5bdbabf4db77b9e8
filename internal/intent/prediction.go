package intent

import (
	"math"
	"time"

	"wamble"
)

// RecordPrediction adds a prediction of a move.
type RecordPrediction struct {
	ID      wamble.PredictionID
	Board   wamble.BoardID
	Session wamble.SessionID
	Parent  wamble.PredictionID
	UCI     string
	Ply     int
	Streak  int
	At      time.Time
}

func (*RecordPrediction) Kind() Kind { return KindRecordPrediction }

func (in *RecordPrediction) code(c coder) coder {
	return c.prediction(&in.ID).board(&in.Board).session(&in.Session).prediction(&in.Parent).
		text(&in.UCI).small(&in.Ply).small(&in.Streak).time(&in.At)
}

func (in *RecordPrediction) check(c checker) checker {
	return c.board(in.Board).at(in.At).session(in.Session).number(in.ID > 0, "prediction", int64(in.ID)).
		number(in.Parent >= 0 && in.Parent != in.ID, "parent", int64(in.Parent)).move(in.UCI, in.Ply).
		number(in.Streak >= 0 && in.Streak <= math.MaxInt32, "streak", int64(in.Streak))
}

// ResolvePrediction sets the result of a prediction.
type ResolvePrediction struct {
	ID      wamble.PredictionID
	Session wamble.SessionID
	Status  wamble.PredictionStatus
	Points  float64
	At      time.Time
}

func (*ResolvePrediction) Kind() Kind { return KindResolvePrediction }

func (in *ResolvePrediction) code(c coder) coder {
	return c.prediction(&in.ID).session(&in.Session).octet((*uint8)(&in.Status)).float(&in.Points).time(&in.At)
}

func (in *ResolvePrediction) check(c checker) checker {
	return c.session(in.Session).number(in.ID > 0, "prediction", int64(in.ID)).
		number(in.Status > wamble.Pending && in.Status <= wamble.Expired, "resolved status", int64(in.Status)).
		decimal("points", in.Points).at(in.At)
}
