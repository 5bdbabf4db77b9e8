package profile

import (
	"strconv"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/predict"
	"wamble/internal/session"
	"wamble/wire"
)

// predictsAs is the policy's resource for predicting, by mode.
var predictsAs = map[predict.Mode]string{predict.Holder: "self", predict.Streak: "streak", predict.Gated: "gated"}

// mayPredict returns how deep a session may predict on a board: 0 is the next move alone, negative none.
// The limit is the depth that other players can see.
func (p *Profile) mayPredict(s *session.Session, b *board.Board) int {
	return p.mayPredictOn(s, b.ID(), b.Holder() == s.ID())
}

// mayPredictOn is mayPredict for a board that may be in another shard.
func (p *Profile) mayPredictOn(s *session.Session, b wamble.BoardID, holds bool) int {
	o := p.audience.predictions.Options()
	if !p.audience.predictions.MayPredict(s.Token(), holds) {
		return -1
	}
	var id string
	if p.policy.Rules("prediction.write") {
		id = strconv.FormatUint(uint64(b), 10)
	}
	return depthOf(p.policyDecision(s, "prediction.write", predictsAs[o.Mode], "board", id), o.Depth)
}

// mayReadPredictions returns how deep a session may read the tree, at most wants; negative: not at all.
func (p *Profile) mayReadPredictions(s *session.Session, wants int) int {
	var depth string
	if p.policy.Rules("prediction.read") {
		depth = strconv.Itoa(wants)
	}
	return min(wants, depthOf(p.policyDecision(s, "prediction.read", "tree", "depth", depth),
		p.audience.predictions.Options().Depth))
}

// depthOf returns the depth that a decision allows, at most most; negative: none.
func depthOf(d access.Decision, most int) int {
	if !d.Allowed {
		return -1
	}
	return min(d.Level, most)
}

// predict handles SUBMIT_PREDICTION.
func (p *Profile) predict(r *request, out *Output) verdict {
	m := r.message.(*wire.SubmitPrediction)
	s, b := r.session, p.boards.Board(r.h.Board)
	if b == nil {
		return p.predictInOtherShard(r, m, out)
	}
	reads := p.mayReadPredictions(s, 0) >= 0
	row, v := p.audience.predictions.Submit(p.clock.now, predict.Submission{
		Session: s.ID(), Token: s.Token(), Board: b.ID(), On: b.Position(), Holds: b.Holder() == s.ID(),
		UCI: m.UCI.String(), Parent: wamble.PredictionID(m.Parent), Level: p.mayPredict(s, b), Reads: reads,
	}, &p.frame)
	if v == predict.Created {
		p.stats.Scores.Predictions++
	} else if !reads {
		row = predict.Row{}
	}
	p.answerSubmit(r, v, row)
	return done
}

// predictInOtherShard handles a prediction on a board of another shard.
func (p *Profile) predictInOtherShard(r *request, m *wire.SubmitPrediction, out *Output) verdict {
	reads := p.mayReadPredictions(r.session, 0) >= 0
	ask := BoardRequest{
		UCI: m.UCI.String(), Parent: wamble.PredictionID(m.Parent),
		Level: p.mayPredictOn(r.session, r.h.Board, false), Reads: reads,
	}
	if ask.UCI == "" {
		ask.UCI = "-" // refused there, as it would be here
	}
	reply, v := p.askOtherShards(r, ask, out)
	switch {
	case v != done:
		return v
	case reply == nil:
		p.answerSubmit(r, predict.NotFound, predict.Row{})
	default:
		var row predict.Row
		if len(reply.Rows) > 0 && (reads || reply.Status == predict.Created) {
			row = reply.Rows[0]
		}
		p.answerSubmit(r, reply.Status, row)
	}
	return done
}

// answerSubmit answers with the status, and the row unless it is zero.
func (p *Profile) answerSubmit(r *request, v predict.SubmitStatus, row predict.Row) {
	data := p.audience.data[:0]
	if row.ID != 0 {
		data = append(data, p.rowFor(r.session, &row))
	}
	p.audience.data = data
	fields := append(p.scratch.fields[:0],
		wire.String(wire.KeyPredictionRequestKind, wire.KindSubmit), wire.Int(wire.KeyPredictionSubmitStatus, int64(v)))
	p.answerPredictions(r, data, fields)
}

// predictions answers with the tree of a board, empty if the board is unknown.
func (p *Profile) predictions(r *request, out *Output) verdict {
	m := r.message.(*wire.GetPredictions)
	depth := p.audience.predictions.Options().Depth
	if m.Depth > 0 {
		depth = min(depth, int(m.Depth))
	}
	depth = p.mayReadPredictions(r.session, depth)
	if depth < 0 {
		return p.deny(r, &wamble.Denied{Code: wamble.PredictionReadFailed, Reason: "prediction read failed"})
	}
	limit := int(m.Limit)
	if limit == 0 || limit > wire.MaxRows {
		limit = wire.MaxRows
	}
	a := &p.audience
	a.rows, a.data = a.predictions.Read(a.rows[:0], r.h.Board, depth, limit), a.data[:0]
	if p.boards.Board(r.h.Board) == nil {
		reply, v := p.askOtherShards(r, BoardRequest{Depth: depth, Limit: limit}, out)
		if v != done {
			return v
		}
		if reply != nil {
			a.rows = append(a.rows, reply.Rows...)
		}
	}
	for i := range a.rows {
		a.data = append(a.data, p.rowFor(r.session, &a.rows[i]))
	}
	p.answerPredictions(r, a.data, append(p.scratch.fields[:0],
		wire.String(wire.KeyPredictionRequestKind, wire.KindTree)))
	return done
}

func (n *network) answerPredictions(r *request, data []wire.Prediction, fields []wire.Field) {
	h := wire.Header{Token: r.h.Token, Board: r.h.Board}
	link.Answer(n.link, r.id, h, wire.PredictionData{Rows: data}, fields...)
}

// rowFor returns a prediction as one session may see it: authors of others under a pseudonym.
func (p *Profile) rowFor(s *session.Session, row *predict.Row) wire.Prediction {
	author := wire.Author(s.Token())
	if row.Session != s.ID() {
		author = p.audience.predictions.Pseudonym(s.ID(), row.Session)
	}
	uci, _ := wire.MakeUCI(row.UCI) // checked before
	return wire.Prediction{
		ID: wire.Uint64(row.ID), Parent: wire.Uint64(row.Parent), Author: author, Points: wire.Float(row.Points),
		TargetPly: uint16(row.Ply), Depth: uint8(row.Depth), Status: wire.PredictionStatus(row.Status), UCI: uci,
	}
}

// resolve compares a move with the predictions of it.
func (p *Profile) resolve(played *board.Played) {
	p.audience.predictions.Resolve(p.clock.now, played.Board.ID(), played.Ply, played.Board.Last(), &p.frame)
}

// expire ends the predictions of a board that is finished.
func (p *Profile) expire(id wamble.BoardID) { p.audience.predictions.Expire(p.clock.now, id, &p.frame) }

// restorePredictions takes the stored predictions of a board into memory.
func (p *Profile) restorePredictions(b *board.Board, stored []wamble.Prediction) {
	for i := range stored {
		if stored[i].Board == b.ID() {
			p.audience.predictions.Restore(p.clock.now, &stored[i], b.Plies(), &p.frame)
		}
	}
}
