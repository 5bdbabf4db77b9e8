package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
)

// restoreBoard puts a stored board into the pool, and its holder into memory. A
// board whose moves do not lead to its position is played on from the position.
func (p *Profile) restoreBoard(stored *wamble.Board, out *Output) {
	err := p.boards.Restore(p.clock.now, stored, &p.draft)
	var damaged *board.Damaged
	if errors.As(err, &damaged) && len(stored.Moves) > 0 {
		out.Troubles = append(out.Troubles, err)
		p.stats.Damaged++
		bare := *stored
		bare.Moves = nil
		err = p.boards.Restore(p.clock.now, &bare, &p.draft)
	}
	if err != nil {
		out.Troubles = append(out.Troubles, err)
		p.stats.Damaged++
		return
	}
	h := stored.Holder
	if h == nil || h.Token.IsZero() || p.players.byID[h.Session] != nil {
		return
	}
	if b := p.boards.Held(h.Session); b != nil && b.ID() == stored.ID {
		pl := &player{id: h.Session, token: h.Token, key: h.Key, heard: p.clock.since, noted: p.clock.since}
		p.players.add(pl, &p.players.idle)
	}
}

// restoreSession says more about the holder of a restored board, or about one
// whose board is still to come.
func (p *Profile) restoreSession(s *wamble.Session) {
	if pl := p.players.byID[s.ID]; pl != nil {
		pl.key, pl.stats = s.Key, s.Stats
		return
	}
	pl := playerOf(s)
	pl.heard, pl.noted = p.clock.since, p.clock.since
	p.players.add(pl, &p.players.idle)
}
