package session

import (
	"time"

	"wamble"
)

// Restore takes in a stored session that holds a board, at the start of a
// profile. It is idle, and there is room for every holder. Player is as for
// Admit. Error: ErrOver.
func (t *Table) Restore(now time.Time, stored *wamble.Session, player *wamble.Player) (*Session, error) {
	at := t.tick(now)
	if s := t.byToken[stored.Token]; s != nil {
		return s, nil
	}
	if !t.takes(at, stored) {
		return nil, ErrOver
	}
	s := t.revive(at, stored, player)
	t.add(s, &t.rolls.idle)
	return s, nil
}
