package profile

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The host's words that still hold travel in a snapshot as he said them: the
// brownout first, then the bans. What was being cried is not cried on.

func saveLaw(p *Profile, dst []byte) ([]byte, error) {
	l := &p.mode.law
	words := []Word{{Brownout: l.brownout}}
	add := func(whom Whom, b ban) {
		w := Word{Whom: whom, Until: b.until}
		if b.denied != errBanned {
			w.Text = strings.TrimPrefix(b.denied.Reason, banPrefix)
		}
		words = append(words, w)
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
	slices.SortFunc(words[1:], func(a, b Word) int {
		return cmp.Or(slices.Compare(a.Whom.Token[:], b.Whom.Token[:]), slices.Compare(a.Whom.Key[:], b.Whom.Key[:]),
			a.Whom.Net.Addr().Compare(b.Whom.Net.Addr()), cmp.Compare(a.Whom.Net.Bits(), b.Whom.Net.Bits()))
	})
	text, err := json.Marshal(words)
	return append(dst, text...), err
}

func loadLaw(v *revival, state []byte) error {
	var words []Word
	if err := json.Unmarshal(state, &words); err != nil {
		return err
	}
	if len(words) == 0 || len(words) > 1+3*maxBans {
		return ErrState
	}
	v.law.brownout = words[0].Brownout
	for i := range words[1:] {
		// At the beginning of time no ban has ended, and nothing is swept.
		if err := v.law.bans.add(time.Time{}, &words[1+i]); err != nil {
			return err
		}
	}
	return nil
}
