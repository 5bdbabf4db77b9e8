package board

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// Rejection is why a move is refused. Its number is part of the ERROR.
type Rejection uint8

// The closed list of rejections. The original's 3, not the player's turn, cannot occur: the holder of a
// board is always to move.
const (
	BadArguments Rejection = 1
	NotHolder    Rejection = 2
	BadUCI       Rejection = 4
	Illegal      Rejection = 5
)

func (r Rejection) Error() string { return fmt.Sprintf("move rejected (status=%d)", uint8(r)) }

// Played is the result of a move.
type Played struct {
	Board *Board // after the move
	Ply   int    // 1 for White's first move
	First bool   // the session's first move on this board
	// Answered is the session of the move before; 0: none or unknown.
	Answered wamble.SessionID
	From     uint64 // key of the position before the move; 0: unknown
	// Waited is how long the board has waited for the move; negative if no earlier move is known.
	Waited time.Duration
	// Finished is set if the move ended the game. The board has left the pool then.
	Finished *Finished
}

// Play makes the move of a session on the board that it holds. Afterwards the board is free, or archived if the game
// is over. The board stores the player, the rating, and whether the mover is a program. Errors: ErrUnknownBoard, or a
// Rejection.
func (p *Pool) Play(now time.Time, id wamble.BoardID, who Mover, uci string, out intent.Intents) (Played, error) {
	t, by := p.tick(now), who.Session
	b := p.holders[by] // the map of holders is smaller than that of boards
	if b == nil || b.id != id {
		b = p.Board(id)
	}
	switch {
	case b == nil:
		return Played{}, ErrUnknownBoard
	case by <= 0:
		return Played{}, BadArguments
	case b.holder != by:
		return Played{}, NotHolder
	}
	m, err := b.position.ParseUCI(uci)
	if errors.Is(err, chess.ErrIllegal) {
		return Played{}, Illegal
	} else if err != nil {
		return Played{}, BadUCI
	}
	done := Played{Board: b, First: b.lastBy(by) == 0, Waited: -1}
	if b.times.moved != 0 {
		done.Waited = spanOf(max(0, t-b.times.moved))
	}
	if n := len(b.plies); n > 0 {
		done.Answered = b.plies[n-1].session()
	}
	if n := len(b.history); n > 0 {
		done.From = b.history[n-1]
	}
	packed := who.packed()
	b.add(t, packed, m)
	b.times.moved = t
	done.Ply = b.position.Ply()
	p.recordMove(t, by, m, packed.strength, &done, out)
	p.clearHolder(b)
	if e := p.ending(b); e != nil {
		done.Finished = p.archive(t, b, *e, out)
		return done, nil
	}
	b.status = wamble.Active
	p.setFree(b)
	at, _ := p.deadline(b)
	p.deadlines.sooner(b, at)
	p.update(t, b, out)
	p.removeReservation(t, b, out)
	return done, nil
}

// Ends reports whether a move of the board's holder would end the game.
func (p *Pool) Ends(id wamble.BoardID, by wamble.SessionID, uci string) bool {
	b := p.holders[by]
	if b == nil || b.id != id {
		return false
	}
	m, err := b.position.ParseUCI(uci)
	if err != nil {
		return false
	}
	after := Board{position: b.position.Play(m)}
	after.history = slices.Clone(b.history).Add(&after.position)
	return p.ending(&after) != nil
}

// Repeats reports whether a move is the session's last one on a board that it does not hold any more: the
// answer was lost, and the player asks again. It knows the boards of the pool and the last recentBoards
// that were finished or sent; for older ones see RepeatsStored.
func (p *Pool) Repeats(id wamble.BoardID, by wamble.SessionID, uci string) bool {
	b := p.Recent(id)
	if b == nil || by <= 0 || b.holder == by {
		return false
	}
	m := b.lastBy(by)
	return m != 0 && uciOf(m) == uci
}

// Made reports whether a session made a move as number ply of a board, from 1.
func (b *Board) Made(by wamble.SessionID, ply int64, uci string) bool {
	i := ply - 1 - int64(b.position.Ply()-len(b.plies))
	return i >= 0 && i < int64(len(b.plies)) && b.plies[i].session() == by && uciOf(b.plies[i].move()) == uci
}

// Recent returns a board of the pool, or one of the last recentBoards that were finished or sent; nil if it
// is neither.
func (p *Pool) Recent(id wamble.BoardID) *Board {
	if b := p.Board(id); b != nil {
		return b
	}
	return p.finished.byID[id]
}

// RepeatsStored is Repeats for a stored board.
func RepeatsStored(b *wamble.Board, by wamble.SessionID, uci string) bool {
	if b.Holder != nil && b.Holder.Session == by {
		return false
	}
	for i := len(b.Moves) - 1; i >= 0; i-- {
		if b.Moves[i].Session == by {
			return b.Moves[i].UCI == uci
		}
	}
	return false
}
