package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
	"wamble/wire"
)

// move plays a move, and switches the player to another board. A move that was
// played already is answered as if it were played now: its answer got lost, even
// if that was in a crash.
func (p *Profile) move(r *request, out *Output) verdict {
	uci := r.message.(*wire.PlayerMove).UCI.String()
	pl, id := r.player, r.h.Board
	played, err := p.boards.Play(p.clock.now, id, pl.id, uci, &p.draft)
	switch {
	case err == nil:
		p.moved(pl, &played, out)
	case p.boards.Repeats(id, pl.id, uci):
		p.stats.Repeats++
	case errors.Is(err, board.ErrUnknownBoard):
		if !r.asked || r.subject != GameOf {
			return p.ask(r, Load{Subject: GameOf, Token: r.h.Token, Board: id}, out)
		}
		if r.game == nil || !board.RepeatsStored(r.game, pl.id, uci) {
			p.stats.Rejected++
			p.deny(r, &wamble.Denied{Code: wamble.UnknownBoard, Reason: "unknown board", Blocking: true})
			return done
		}
		p.stats.Repeats++
	default:
		p.stats.Rejected++
		p.deny(r, &wamble.Denied{Code: wamble.MoveRejected, Reason: err.Error()})
		return done
	}
	next, taken, denied := p.seat(pl)
	if denied != nil {
		p.deny(r, &wamble.Denied{Code: wamble.Internal, Reason: "no replacement board after move"})
		return done
	}
	p.answerUpdate(r, next)
	p.sealFor(pl, out)
	p.lost(taken, out)
	return done
}

// moved takes down what a move means for the player, and for the game.
func (p *Profile) moved(pl *player, played *board.Played, out *Output) {
	p.stats.Moves++
	pl.left = played.Board.ID()
	if played.First {
		pl.stats.Games++
		if played.Board.Variant() >= 0 {
			pl.stats.Chess960Games++
		}
	}
	if played.Finished != nil {
		p.finished(played.Finished, out)
	}
}

// finished is the one place where a finished game meets the other rooms. The
// board has left the pool, and its result is in the draft of this request.
func (p *Profile) finished(f *board.Finished, out *Output) {
	p.stats.Finished++
	out.Finished = append(out.Finished, f)
}
