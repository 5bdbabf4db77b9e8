package profile

import (
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/wire"
)

// noteShown records that the holder of a board was shown its last move, if keep-shown-moves is on. The
// intent is droppable: the rows are for the study of how people play.
func (p *Profile) noteShown(b *board.Board, v *view) {
	if !p.cfg.Boards.KeepShownMoves || !v.showsMove() {
		return
	}
	if m, ok := b.LastMove(); ok {
		p.droppable.Add(&intent.RecordLastMoveShown{
			Board: b.ID(), Session: b.Holder(), UCI: m.Move.String(), At: p.clock.now,
		})
	}
}

// showsMove reports whether the view has the last move, which fit may have dropped.
func (v *view) showsMove() bool {
	for i := range v.fields {
		if v.fields[i].Key == wire.KeyLastMoveTo {
			return true
		}
	}
	return false
}
