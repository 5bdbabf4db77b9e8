package profile

import (
	"encoding/json"
	"time"

	"wamble"
	"wamble/internal/access"
)

// standing is a command of the host that still holds: the brownout in the first
// row of the section, a ban in each other one. An announcement that is under way
// ends with the process.
type standing struct {
	Text     string
	Whom     Whom
	Until    time.Time
	Brownout Brownout
	Hashed   bool // Whom.Token is a hash; an older image wrote the token
}

func saveLaw(p *Profile, dst []byte) ([]byte, error) {
	rows := []standing{{Brownout: p.brownout}}
	for _, b := range p.law.Bans.All() {
		rows = append(rows, standing{Whom: Whom{Token: b.Token, Key: b.Key, Net: b.Net}, Text: b.Reason, Until: b.Until, Hashed: true})
	}
	text, err := json.Marshal(rows)
	return append(dst, text...), err
}

func loadLaw(v *adoption, state []byte) error {
	var rows []standing
	if err := json.Unmarshal(state, &rows); err != nil {
		return err
	}
	if len(rows) == 0 || len(rows) > 1+3*access.MaxBans {
		return ErrState
	}
	v.brownout = rows[0].Brownout
	for _, row := range rows[1:] {
		if !row.Hashed && !row.Whom.Token.IsZero() {
			row.Whom.Token = wamble.Token(row.Whom.Token).Hash()
		}
		// At the beginning of time no ban has ended, and nothing is swept.
		if err := v.law.Bans.Add(time.Time{}, (&Ban{Whom: row.Whom, Text: row.Text, Until: row.Until}).access()); err != nil {
			return err
		}
	}
	return nil
}
