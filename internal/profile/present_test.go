package profile

import (
	"net/netip"
	"testing"
	"time"

	"wamble"
)

// TestLastSeenNeverGoesBack: however the wall clock is set, a session is never shown with an earlier sign of
// life than before, or than the store has, also after a handoff.
func TestLastSeenNeverGoesBack(t *testing.T) {
	r := newRig(t, "")
	token, on := r.join(1)
	shown := time.Time{}
	look := func(when string) {
		t.Helper()
		r.apply()
		s := r.p.sessions.Find(token)
		found, _ := r.p.Seek(Seek{Token: token}, 1)
		stored := r.store.sessions[s.ID()].LastSeen
		switch seen := found[0].Seen; {
		case seen.Before(shown):
			t.Errorf("%s: %v is shown, after %v", when, seen, shown)
		case seen.Before(stored):
			t.Errorf("%s: %v is shown, and %v stored", when, seen, stored)
		default:
			shown = seen
		}
		if other := r.p.InMemory(s.ID(), wamble.PublicKey{}).Session.LastSeen; !other.Equal(shown) {
			t.Errorf("%s: another shard shows %v, want %v", when, other, shown)
		}
	}
	seq := uint32(1)
	alive := func() {
		seq++
		r.send(peerAt(1), legalPacket(token, on, seq, 12))
	}
	look("at first")
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 2 * time.Hour, time.Minute} {
		r.step(&WallClock{Ahead: ahead})
		look("after the clock was set to " + ahead.String())
		r.wait(2 * time.Minute)
		alive()
		look("with a new sign of life at " + ahead.String())
	}
	r = handOver(t, r)
	look("after a handoff")
	r.step(&WallClock{Ahead: -3 * time.Hour})
	alive()
	look("with a sign of life after a handoff")
	r.now = r.now.Add(-time.Hour)
	r.restart()
	look("after a start with a clock that was set back")
	seq = 100
	alive()
	look("with a sign of life after a start")
}

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
