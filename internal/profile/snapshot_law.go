package profile

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// standing is a command of the host that still holds: the brownout in the first
// row of the section, a ban in each other one. An announcement that is under way
// ends with the process.
type standing struct {
	Text     string
	Whom     Whom
	Until    time.Time
	Brownout Brownout
}

func saveLaw(p *Profile, dst []byte) ([]byte, error) {
	l := &p.mode.law
	rows := []standing{{Brownout: l.brownout}}
	add := func(whom Whom, b ban) {
		row := standing{Whom: whom, Until: b.until}
		if b.denied != errBanned {
			row.Text = strings.TrimPrefix(b.denied.Reason, banPrefix)
		}
		rows = append(rows, row)
	}
	for k, b := range l.bans.tokens {
		add(Whom{Token: k}, b)
	}
	for k, b := range l.bans.keys {
		add(Whom{Key: k}, b)
	}
	for k, b := range l.bans.nets {
		add(Whom{Net: k}, b)
	}
	slices.SortFunc(rows[1:], func(a, b standing) int {
		return cmp.Or(slices.Compare(a.Whom.Token[:], b.Whom.Token[:]), slices.Compare(a.Whom.Key[:], b.Whom.Key[:]),
			a.Whom.Net.Addr().Compare(b.Whom.Net.Addr()), cmp.Compare(a.Whom.Net.Bits(), b.Whom.Net.Bits()))
	})
	text, err := json.Marshal(rows)
	return append(dst, text...), err
}

func loadLaw(v *revival, state []byte) error {
	var rows []standing
	if err := json.Unmarshal(state, &rows); err != nil {
		return err
	}
	if len(rows) == 0 || len(rows) > 1+3*maxBans {
		return ErrState
	}
	v.law.brownout = rows[0].Brownout
	for _, row := range rows[1:] {
		// At the beginning of time no ban has ended, and nothing is swept.
		if err := v.law.bans.add(time.Time{}, &Ban{Whom: row.Whom, Text: row.Text, Until: row.Until}); err != nil {
			return err
		}
	}
	return nil
}
