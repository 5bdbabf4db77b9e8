package client

import (
	"context"
	"fmt"

	"wamble"
	"wamble/wire"
)

// PredictionStatus is the state of a prediction.
type PredictionStatus uint8

// The states of a prediction.
const (
	PredictionPending   = PredictionStatus(wire.PredictionPending)
	PredictionCorrect   = PredictionStatus(wire.PredictionCorrect)
	PredictionIncorrect = PredictionStatus(wire.PredictionIncorrect)
	PredictionExpired   = PredictionStatus(wire.PredictionExpired)
)

// Prediction is one node of the tree of predictions for a board.
type Prediction struct {
	ID, Parent uint64 // Parent is 0 for a root
	// Author is the own token for the player's predictions, and a pseudonym for those of
	// others.
	Author    [16]byte
	Points    float64
	TargetPly int
	Depth     int
	Status    PredictionStatus
	UCI       string
}

// SubmitStatus is the result of a submitted prediction.
type SubmitStatus int64

// The results; the zero value means that the server does not send one.
const (
	SubmitCreated       = SubmitStatus(wire.SubmitCreated)
	SubmitDuplicate     = SubmitStatus(wire.SubmitDuplicate)
	SubmitDuplicateMove = SubmitStatus(wire.SubmitDuplicateMove)
	SubmitInvalid       = SubmitStatus(wire.SubmitInvalid)
	SubmitLimit         = SubmitStatus(wire.SubmitLimit)
	SubmitNotAllowed    = SubmitStatus(wire.SubmitNotAllowed)
	SubmitNotFound      = SubmitStatus(wire.SubmitNotFound)
	SubmitDisabled      = SubmitStatus(wire.SubmitDisabled)
)

// Submitted is the answer to a prediction.
type Submitted struct {
	Status SubmitStatus
	// Prediction is the new prediction, or the existing one; nil if the server does not show
	// it.
	Prediction *Prediction
}

// Predict predicts the next move of a board or, with a parent other than 0, the move after that
// prediction.
func (c *Client) Predict(ctx context.Context, board wamble.BoardID, uci string, parent uint64) (Submitted, error) {
	move, err := wire.MakeUCI(uci)
	if err != nil {
		return Submitted{}, fmt.Errorf("prediction %q: %w", uci, err)
	}
	return ask(ctx, c, wire.Header{Board: board}, wire.SubmitPrediction{UCI: move, Parent: wire.Uint64(parent)},
		func(p *wire.Packet, m *wire.PredictionData) (Submitted, bool) {
			status, _ := p.Ext.Int(wire.KeyPredictionSubmitStatus)
			s := Submitted{Status: SubmitStatus(status)}
			if rows := predictionsOf(m); len(rows) > 0 {
				s.Prediction = &rows[0]
			}
			return s, p.Board == board && isKind(p, wire.KindSubmit)
		})
}

// Predictions requests the predictions of a board, down to a depth (0: the server's default),
// at most limit (0: 16).
func (c *Client) Predictions(ctx context.Context, board wamble.BoardID, depth, limit uint8) ([]Prediction, error) {
	return ask(ctx, c, wire.Header{Board: board}, wire.GetPredictions{Depth: depth, Limit: limit},
		func(p *wire.Packet, m *wire.PredictionData) ([]Prediction, bool) {
			return predictionsOf(m), p.Board == board && isKind(p, wire.KindTree)
		})
}

func isKind(p *wire.Packet, kind string) bool {
	f, ok := p.Ext.Lookup(wire.KeyPredictionRequestKind)
	return !ok || f.TextIs(kind)
}

func predictionsOf(m *wire.PredictionData) []Prediction {
	var rows []Prediction
	for _, r := range m.Rows {
		rows = append(rows, Prediction{
			ID: uint64(r.ID), Parent: uint64(r.Parent), Author: r.Author, Points: float64(r.Points),
			TargetPly: int(r.TargetPly), Depth: int(r.Depth), Status: PredictionStatus(r.Status), UCI: r.UCI.String(),
		})
	}
	return rows
}
