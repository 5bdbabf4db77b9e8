package profile

import (
	"net/netip"
	"testing"

	"wamble"
)

// TestSeekIsBounded: a search by token, session or board walks no sessions, and another one no more than its
// bound. Then it says that there may be more.
func TestSeekIsBounded(t *testing.T) {
	r := newRig(t, "")
	const players = 4
	var token wamble.Token
	var on wamble.BoardID
	for n := range players {
		token, on = r.join(n)
	}
	last := r.p.sessions.Find(token)
	for name, tc := range map[string]struct {
		of     Seek
		bound  int
		found  int
		more   bool
		others bool // sessions other than the last are found too
	}{
		"token":             {of: Seek{Token: token}, found: 1},
		"session":           {of: Seek{Session: last.ID()}, found: 1},
		"board":             {of: Seek{Board: on}, found: 1},
		"all three":         {of: Seek{Token: token, Session: last.ID(), Board: on}, found: 1},
		"unknown token":     {of: Seek{Token: wamble.Token{1, 2, 3}}},
		"unknown key":       {of: Seek{Key: &[2]wamble.PublicKey{{1}, {1}}}},
		"hash, all walked":  {of: Seek{Hash: token.Hash()}, bound: players, found: 1},
		"hash, none walked": {of: Seek{Hash: token.Hash()}, more: true},
		"network, all walked": {of: Seek{Net: netip.MustParsePrefix("0.0.0.0/0")}, bound: players, found: players,
			others: true},
		"network, some walked": {of: Seek{Net: netip.MustParsePrefix("0.0.0.0/0")}, bound: 2, found: 2, more: true,
			others: true},
		"name, none walked": {of: Seek{Name: "ann"}, more: true},
	} {
		t.Run(name, func(t *testing.T) {
			found, more := r.p.seek(tc.of, players, tc.bound)
			if len(found) != tc.found || more != tc.more {
				t.Fatalf("found %d, more %t; want %d, %t", len(found), more, tc.found, tc.more)
			}
			if !tc.others && len(found) > 0 && found[0].Session != last.ID() {
				t.Errorf("found session %d, want %d", found[0].Session, last.ID())
			}
		})
	}
}
