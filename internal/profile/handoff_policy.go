package profile

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"wamble"
	"wamble/internal/access"
)

// hostCommand is a command of the host that still holds: brownout, announcements that stay and merges in the first
// row of the slice, one ban in each other row. An announcement that is under way ends with the process.
type hostCommand struct {
	Text     string
	Whom     Target
	Until    time.Time
	Brownout Brownout
	Standing []Standing  `json:",omitempty"`
	Merged   []mergedKey `json:",omitempty"` // keys of merged players
}

// mergedKey is a row of mergedKeys.
type mergedKey struct{ Key, Of wamble.PublicKey }

func savePolicy(p *Profile, dst []byte) ([]byte, error) {
	rows := []hostCommand{{Brownout: p.brownout, Standing: p.announcements.standing}}
	for from, into := range p.merged {
		rows[0].Merged = append(rows[0].Merged, mergedKey{from, into})
	}
	slices.SortFunc(rows[0].Merged, func(a, b mergedKey) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	for _, b := range p.policy.Bans.All() {
		rows = append(rows, hostCommand{
			Whom: Target{Token: b.Token, Key: b.Key, Net: b.Net}, Text: b.Reason, Until: b.Until,
		})
	}
	text, err := json.Marshal(rows)
	return append(dst, text...), err
}

func loadPolicy(p *Profile, state []byte, _ *Output) error {
	var rows []hostCommand
	if err := json.Unmarshal(state, &rows); err != nil {
		return err
	}
	if len(rows) == 0 || len(rows) > 1+3*access.MaxBans {
		return ErrState
	}
	p.brownout, p.announcements.standing, p.merged = rows[0].Brownout, rows[0].Standing, mergedKeys{}
	for _, m := range rows[0].Merged {
		p.merged[m.Key] = m.Of
	}
	for _, row := range rows[1:] {
		// At the zero time no ban has ended, so none is removed.
		if err := p.policy.Bans.Add(time.Time{},
			(&Ban{Whom: row.Whom, Text: row.Text, Until: row.Until}).access()); err != nil {
			return err
		}
	}
	return nil
}
