package profile

import (
	"wamble"
	"wamble/internal/board"
)

// Archive ends the game of a board by the host's hand, as a draw. Nobody has won
// it: it pays nothing and changes no rating. Whoever holds the board gets another.
type Archive struct{ Board wamble.BoardID }

func (in *Archive) take(p *Profile, out *Output) {
	if p.stage != running || p.readOnly() {
		return
	}
	f, holder, err := p.boards.Archive(p.clock.now, in.Board, &p.draft)
	if err != nil {
		return // the game has ended by itself, or never was
	}
	p.stats.Finished++
	p.stats.Host.Archived++
	p.expire(in.Board)
	out.Finished = append(out.Finished, f)
	p.seal(out)
	p.revoked(board.Released{Board: in.Board, Session: holder, Why: board.Ended}, out)
}
