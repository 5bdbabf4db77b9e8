package profile

import (
	"wamble"
	"wamble/chess"
	"wamble/internal/link"
	"wamble/wire"
)

// legal answers with the moves of the piece on a square. A player who neither holds the board nor asks for
// a prediction gets an empty list for any square.
func (p *Profile) legal(r *request, out *Output) verdict {
	square := r.message.(*wire.GetLegalMoves).Square
	if r.h.Flags&wire.FlagPredictionContext == 0 {
		p.regain(r)
	}
	b := p.boards.Board(r.h.Board)
	var on chess.Position
	may, known := false, b != nil
	if known {
		on, may = b.Position(), b.Holder() == r.session.ID() ||
			r.h.Flags&wire.FlagPredictionContext != 0 && p.mayPredict(r.session, b) >= 0
	} else if reply, v := p.askOtherShards(r, BoardRequest{}, out); v != done {
		return v
	} else if reply != nil {
		on, known = reply.Sight.Board.Position, true
		may = r.h.Flags&wire.FlagPredictionContext != 0 && p.mayPredictOn(r.session, r.h.Board, false) >= 0
	}
	r.notHolder = !may && r.h.Flags&wire.FlagPredictionContext == 0
	switch {
	case !known:
		return p.deny(r, &wamble.Denied{Code: wamble.UnknownBoard, Reason: "unknown board", Blocking: true})
	case may && square >= uint8(chess.NoSquare):
		return p.deny(r, &wamble.Denied{Code: wamble.LegalMovesInvalid, Reason: "invalid square index"})
	}
	rows := p.scratch.moves[:0]
	if may {
		var buf [32]chess.Move
		for _, m := range on.LegalFrom(buf[:0], chess.Square(square)) {
			row := wire.LegalMove{From: uint8(m.From()), To: uint8(m.To())}
			if kind := m.Promotion(); kind != chess.None {
				row.Promotion = kind.Letter()
			}
			rows = append(rows, row)
		}
	}
	p.scratch.moves = rows
	h := wire.Header{Token: r.h.Token, Board: r.h.Board}
	link.Answer(p.link, r.id, h, wire.LegalMoves{Square: square, Moves: rows})
	return done
}
