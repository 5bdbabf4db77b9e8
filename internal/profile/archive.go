package profile

import (
	"wamble"
	"wamble/internal/board"
)

// Archive ends the game of a board as a draw, by the host's command. It pays nothing and changes no rating.
// The player who holds the board gets another.
type Archive struct{ Board wamble.BoardID }

func (in *Archive) apply(p *Profile, out *Output) {
	if p.stage != running || p.readOnly() {
		return
	}
	f, holder, err := p.boards.Archive(p.clock.now, in.Board, &p.frame)
	if err != nil {
		return // the game has ended already, or never existed
	}
	p.stats.Finished++
	p.stats.Host.Archived++
	p.expire(in.Board)
	out.Finished = append(out.Finished, f)
	p.seal(out)
	p.revoked(board.Released{Board: in.Board, Session: holder, Reason: board.HostEnded}, out)
}
