package schema

import (
	"wamble"
	"wamble/internal/store"
)

// Holders collects the data of sessions that hold boards.
type Holders struct {
	all      []store.Holder
	players  map[wamble.PlayerID]*wamble.Player
	accepted map[wamble.SessionID]bool
}

// NewHolders returns an empty Holders.
func NewHolders() *Holders {
	return &Holders{players: map[wamble.PlayerID]*wamble.Player{}, accepted: map[wamble.SessionID]bool{}}
}

// Session reads a session.
func (h *Holders) Session(scan Scan) error {
	s, err := ScanSession(scan)
	h.all = append(h.all, store.Holder{Session: s})
	return err
}

// Player reads an identity.
func (h *Holders) Player(scan Scan) error {
	p, err := ScanPlayer(scan)
	h.players[p.ID] = &p
	return err
}

// Acceptance reads a session that has accepted the terms.
func (h *Holders) Acceptance(scan Scan) error {
	var id wamble.SessionID
	err := scan(&id)
	h.accepted[id] = true
	return err
}

// All returns the holders.
func (h *Holders) All() []store.Holder {
	for i := range h.all {
		s := &h.all[i]
		s.Accepted = h.accepted[s.ID]
		if p := h.players[s.Session.Player]; p != nil && s.Session.Player != 0 {
			own := *p
			own.Key = s.Key
			s.Player = &own
		}
	}
	return h.all
}
