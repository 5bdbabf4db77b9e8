package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/internal/tally"
	"wamble/wire"
)

// move plays a move, and gives the player another board. A move that was played
// already is answered as if it were played now: its answer got lost, perhaps in
// a crash.
func (p *Profile) move(r *request, out *Output) verdict {
	uci := r.message.(*wire.PlayerMove).UCI.String()
	s, id := r.session, r.h.Board
	before := s.Left()
	if p.leases.Left(wamble.BoardIDs) == 0 && p.boards.Free() == 0 && p.boards.Ends(id, s.ID(), uci) {
		// The board would be gone, and no other to be had: he keeps it. Any other move
		// leaves at least the board that it is made on.
		return p.deny(r, errNoID)
	}
	rating := -1.0
	switch i := s.Identity(); {
	case s.Bot():
		rating = board.Program
	case i != nil:
		rating = i.Stats().Rating
	}
	played, err := p.boards.PlayRated(p.clock.now, id, s.ID(), rating, uci, &p.draft)
	if errors.Is(err, board.NotHolder) && p.regain(r) {
		played, err = p.boards.PlayRated(p.clock.now, id, s.ID(), rating, uci, &p.draft)
	}
	switch {
	case err == nil:
		p.moved(s, &played, out)
	case p.boards.Repeats(id, s.ID(), uci):
		p.stats.Repeats++
	case errors.Is(err, board.ErrUnknownBoard):
		in := r.answerTo(GameOf)
		if in == nil {
			return p.ask(r, Load{Subject: GameOf, Token: r.h.Token, Board: id}, out)
		}
		// The store may not have the newest moves of a board of another profile, so
		// this profile does not answer for such a board.
		if in.Board == nil || in.Board.Profile != p.cfg.Name || !board.RepeatsStored(in.Board, s.ID(), uci) {
			p.stats.Rejected++
			r.lost = true
			return p.deny(r, &wamble.Denied{Code: wamble.UnknownBoard, Reason: "unknown board", Blocking: true})
		}
		p.stats.Repeats++
	default:
		p.stats.Rejected++
		r.lost = true
		return p.deny(r, &wamble.Denied{Code: wamble.MoveRejected, Reason: err.Error()})
	}
	if n := len(p.waitlist.of); n > 0 && n >= p.boards.Free() { // they have waited for longer than he does
		p.awaitBoard(s)
		p.answerMade(r, &played)
		p.sealFor(s, out)
		p.tellWinners(out)
		p.takeTurns(out)
		return done
	}
	next, taken, err := p.seatAt(s, board.Player{Before: before, Answered: played.Answered})
	if err != nil {
		p.answerMade(r, &played)
		p.sealFor(s, out)
		p.tellWinners(out)
		return done
	}
	p.answerMove(r, next, &played)
	p.sealFor(s, out)
	p.tellWinners(out)
	p.revoked(taken, out)
	return done
}

// answerMade answers a move that was made by a player for whom there is no other
// board: with the board of the move as it is now, unless somebody else holds it. It
// is not his any more, which he is told after the answer.
func (p *Profile) answerMade(r *request, played *board.Played) {
	b := p.boards.Recent(r.h.Board)
	if b == nil || b.Holder() != 0 {
		p.deny(r, &wamble.Denied{Code: wamble.Internal, Reason: "the move was made; no board is available"})
		return
	}
	r.lost = true
	v := p.show(r.session, b, r.h.Seq)
	if place := p.waitlist.place(r.session.ID()); place > 0 {
		v.fields.AddInt(wire.KeyWaitPlace, max(1, place-int64(p.boards.Free()))) // those before him get the free ones now
	}
	p.addCrowd(&v, r, played)
	v.fit(p.link.Room(r.id))
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token, Board: b.ID(), Flags: v.flags}, wire.BoardUpdate{FEN: v.fen}, v.fields...)
}

// addCrowd adds how others have moved in the position of a move, if the player asks for it.
func (p *Profile) addCrowd(v *view, r *request, played *board.Played) {
	if wants, _ := r.ext.Int(wire.KeyMoveCrowd); wants != 1 || played.Ply == 0 || played.Ply > tally.Plies {
		return
	}
	p.scratch.crowd = p.crowd.AppendTop(p.scratch.crowd[:0], played.From)
	if len(p.scratch.crowd) > 0 {
		v.fields.AddString(wire.KeyCrowdMoves, string(p.scratch.crowd))
	}
}

// moved takes down what a move means for the player, and for the game.
func (p *Profile) moved(s *session.Session, played *board.Played, out *Output) {
	p.stats.Moves++
	if played.Ply <= tally.Plies && !s.Bot() {
		p.crowd.Count(played.From, played.Board.Last())
	}
	if played.Waited >= 0 {
		p.stats.Deals.Answers++
		p.stats.Deals.Waited += played.Waited
	}
	s.SetLeft(played.Board.ID())
	if played.First {
		game := wamble.Stats{Games: 1}
		if played.Board.Variant() >= 0 {
			game.Chess960Games = 1
		}
		s.Count(game)
	}
	p.resolve(played, out)
	if played.Finished != nil {
		p.finished(played.Finished, out)
	}
}
