package server

import "time"

// bannedRow is a ban as the console lists it.
type bannedRow struct {
	Profile string    `json:"profile"`
	Whom    string    `json:"whom"`
	Text    string    `json:"text,omitempty"`
	Until   time.Time `json:"until,omitzero"` // zero: for ever
}

// bans lists the bans that hold, by profile, the newest last.
func (s *Server) bans() []bannedRow {
	rows, now := []bannedRow{}, time.Now()
	for _, k := range s.keepers() {
		k.word.Lock()
		for _, b := range k.standing.Bans {
			if b.Until.IsZero() || now.Before(b.Until) {
				rows = append(rows, bannedRow{Profile: k.name, Whom: b.Whom, Text: b.Text, Until: b.Until})
			}
		}
		k.word.Unlock()
	}
	return rows
}
