package profile

import (
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/wire"
)

// noteShown writes down that the holder of a board was shown its last move, if
// the host wants to know (keep-shown-moves). The intent is droppable: the rows are
// for those who study how people play.
func (p *Profile) noteShown(b *board.Board, v *view) {
	if !p.cfg.Boards.KeepShownMoves || !v.showsMove() {
		return
	}
	if m, ok := b.LastMove(); ok {
		p.seen.Add(&intent.RecordLastMoveShown{Board: b.ID(), Session: b.Holder(), UCI: m.Move.String(), At: p.clock.now})
	}
}

// showsMove reports whether the last move is in the view, and was not left out
// for lack of room.
func (v *view) showsMove() bool {
	for i := range v.fields {
		if v.fields[i].Key == wire.KeyLastMoveTo {
			return true
		}
	}
	return false
}
