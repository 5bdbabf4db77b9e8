package record

import (
	"fmt"
	"time"

	"wamble"
	"wamble/chess"
)

// At returns the position of a game at a time, and the number of moves before it.
func At(b *wamble.Board, at time.Time) (p chess.Position, plies int, err error) {
	if p, err = startOf(b); err != nil {
		return p, 0, err
	}
	for _, m := range b.Moves {
		if m.At.After(at) {
			break
		}
		move, err := p.ParseUCI(m.UCI)
		if err != nil {
			return p, plies, fmt.Errorf("board %d, ply %d: %q: %w", b.ID, m.Ply, m.UCI, err)
		}
		p.Apply(move)
		plies++
	}
	return p, plies, nil
}
