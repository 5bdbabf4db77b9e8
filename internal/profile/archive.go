package profile

import (
	"wamble"
	"wamble/internal/board"
)

// archive ends the game of a board by the host's hand, as a draw. Nobody has won
// it: it pays nothing and changes no rating. Whoever holds the board gets another.
func (p *Profile) archive(id wamble.BoardID, out *Output) {
	if p.mode.stage != running || p.readOnly() {
		return
	}
	f, holder, err := p.boards.Archive(p.clock.now, id, &p.draft)
	if err != nil {
		return // it has ended by itself, or never was
	}
	p.stats.Finished++
	p.stats.Host.Archived++
	p.expire(id)
	out.Finished = append(out.Finished, f)
	p.seal(out)
	p.lost(board.Released{Board: id, Session: holder, Why: board.Ended}, out)
}
