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

var errUnseen = &wamble.Denied{Code: wamble.MoveRejected, Reason: "the board has changed since you were shown it"}

// move plays a move, and gives the player another board. A move that was played already is answered as if
// it were played now: its answer was lost, perhaps in a crash.
func (p *Profile) move(r *request, out *Output) verdict {
	uci := r.message.(*wire.PlayerMove).UCI.String()
	s, id := r.session, r.h.Board
	s.SetWatches(false)
	before := s.LastBoard()
	again, unseen := p.checkPosition(r, uci)
	if unseen {
		p.stats.Rejected++
		return p.deny(r, errUnseen)
	}
	if !again && p.leases.Remaining(wamble.BoardIDs) == 0 && p.boards.Free() == 0 && p.boards.Ends(id, s.ID(), uci) {
		// The move would end the game, and there would be no other board for the player: they keep this
		// one. Any other move leaves at least the board that it is made on.
		return p.deny(r, errNoID)
	}
	by := board.Mover{Session: s.ID(), Rating: -1, Program: s.Bot()}
	if i := s.Identity(); i != nil {
		by.Player, by.Rating = i.ID(), i.Rating()
	}
	var played board.Played
	var err error
	if !again {
		played, err = p.boards.Play(p.clock.now, id, by, uci, &p.frame)
	}
	if errors.Is(err, board.NotHolder) && p.regain(r) {
		played, err = p.boards.Play(p.clock.now, id, by, uci, &p.frame)
	}
	switch {
	case again:
		p.stats.Repeats++
	case err == nil:
		p.moved(s, &played, out)
	case p.boards.Repeats(id, s.ID(), uci) && !tellsPly(r):
		p.stats.Repeats++
	case errors.Is(err, board.ErrUnknownBoard):
		in := r.answerTo(GameOf)
		if in == nil {
			return p.ask(r, Load{Subject: GameOf, Token: r.h.Token, Board: id}, out)
		}
		// The store may lack the newest moves of a board of another profile, so this profile does not
		// answer for such a board.
		if p.shard.Of > 1 && in.Board != nil && in.Board.Profile == p.cfg.Name && in.Board.Status != wamble.Archived &&
			!board.RepeatsStored(in.Board, s.ID(), uci) {
			p.stats.Rejected++ // another shard has it, for another player
			r.notHolder = true
			return p.deny(r, &wamble.Denied{Code: wamble.MoveRejected, Reason: board.NotHolder.Error()})
		}
		if in.Board == nil || in.Board.Profile != p.cfg.Name || !board.RepeatsStored(in.Board, s.ID(), uci) {
			p.stats.Rejected++
			r.notHolder = true
			return p.deny(r, &wamble.Denied{Code: wamble.UnknownBoard, Reason: "unknown board", Blocking: true})
		}
		p.stats.Repeats++
	default:
		p.stats.Rejected++
		r.notHolder = true
		return p.deny(r, &wamble.Denied{Code: wamble.MoveRejected, Reason: err.Error()})
	}
	if n := p.waitlist.here(); n > 0 && n >= p.boards.Free() { // they have waited longer than this player
		p.awaitBoard(s)
		p.answerMade(r, &played)
		p.sealFor(s, out)
		p.notifyWinners(out)
		p.takeTurns(out)
		return done
	}
	next, taken, err := p.assignBoardTo(s, board.Player{BoardBefore: before, Answered: played.Answered})
	if err != nil {
		p.answerMade(r, &played)
		p.sealFor(s, out)
		p.notifyWinners(out)
		return done
	}
	p.answerMove(r, next, &played)
	p.sealFor(s, out)
	p.notifyWinners(out)
	p.revoked(taken, out)
	return done
}

// checkPosition reports whether a move was made already (again), or is meant for a position that its board no
// longer has (unseen). Our clients send the number of moves that the board had when they saw it.
func (p *Profile) checkPosition(r *request, uci string) (again, unseen bool) {
	s, id := r.session, r.h.Board
	plies, sent := r.ext.Int(wire.KeyBoardPly)
	if !sent {
		// Old clients do not say which position they saw: the board that this player left, or was offered,
		// has moved on.
		return false, s.LastBoard() == id && (r.moved || p.link.Unseen(r.id, id))
	}
	b := p.boards.Held(s.ID())
	if b == nil || b.ID() != id {
		b = p.boards.Recent(id)
	}
	if b == nil || int64(b.Plies()) == plies {
		return false, false
	}
	again = b.Made(s.ID(), plies+1, uci)
	if !again {
		r.notHolder, r.moved = true, true // the answer shows the board that the player holds
	}
	return again, !again
}

// tellsPly reports whether a move carries the number of moves that its board had.
func tellsPly(r *request) bool {
	_, sent := r.ext.Int(wire.KeyBoardPly)
	return sent
}

// answerMade answers a move of a player for whom there is no other board: with the board of the move as it
// is now, unless another player holds it. After the answer the player is notified that the board is not theirs
// any more.
func (p *Profile) answerMade(r *request, played *board.Played) {
	b := p.boards.Recent(r.h.Board)
	if b == nil || b.Holder() != 0 {
		p.deny(r, &wamble.Denied{Code: wamble.Internal, Reason: "the move was made; no board is available"})
		return
	}
	r.notHolder = true
	v := p.show(r.session, b, r.h.Seq)
	if place := p.waitlist.place(r.session.ID()); place > 0 {
		v.fields.AddInt(wire.KeyWaitPlace, max(1, place-int64(p.boards.Free()))) // those ahead get the free boards now
	}
	p.addMoveTally(&v, r, played)
	v.fit(p.link.Room(r.id))
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token, Board: b.ID(), Flags: v.flags},
		wire.BoardUpdate{FEN: v.fen}, v.fields...)
}

// addMoveTally adds how other players have moved in the same position, if the player asks for it.
func (p *Profile) addMoveTally(v *view, r *request, played *board.Played) {
	if wants, _ := r.ext.Int(wire.KeyMoveCrowd); wants != 1 || played.Ply == 0 || played.Ply > tally.Plies {
		return
	}
	p.scratch.moveTally = p.moveTally.AppendTop(p.scratch.moveTally[:0], played.From)
	if len(p.scratch.moveTally) > 0 {
		v.fields.AddString(wire.KeyCrowdMoves, string(p.scratch.moveTally))
	}
}

// moved records what a move changes for the player and for the game.
func (p *Profile) moved(s *session.Session, played *board.Played, out *Output) {
	p.stats.Moves++
	if played.Ply <= tally.Plies && !s.Bot() {
		p.moveTally.Count(played.From, played.Board.Last())
	}
	if played.Waited >= 0 {
		p.stats.Deals.Answers++
		p.stats.Deals.Waited += played.Waited
	}
	s.SetLastBoard(played.Board.ID())
	if played.First {
		s.BeginGame(played.Board.Variant() >= 0)
	}
	p.resolve(played)
	if played.Finished != nil {
		p.finished(played.Finished, out)
	}
}
