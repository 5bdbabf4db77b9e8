package access

import (
	"testing"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

// lawOf returns the policy of the profile "here" with some rules, and one neighbour.
func lawOf(open bool, rules ...wamble.PolicyRule) *Policy {
	c := *config.Defaults().Default
	c.Name = "here"
	c.Shared = &config.Shared{
		Rules: rules,
		Tags:  []wamble.PolicyTag{{Who: wamble.PolicyWho{ID: 9}, Tag: "shy"}},
		Profiles: []config.Neighbour{
			{Name: "club", Group: "blue", Visibility: 2, Advertise: true, Open: true, Terms: "be kind"},
			{Name: "here", Open: open, Advertise: true},
		},
	}
	l := &Policy{}
	l.SetConfig(&c)
	return l
}

// may is a rule.
func may(allow bool, who int64, action, resource string, level int) wamble.PolicyRule {
	return wamble.PolicyRule{Allow: allow, Who: wamble.PolicyWho{ID: who}, Action: action, Resource: resource,
		Level: level}
}

// TestPolicy: the policy's answer to a move, before and after the player is known.
func TestPolicy(t *testing.T) {
	play := Right{Action: "game.move", Resource: "play"}
	for _, tc := range []struct {
		name            string
		law             *Policy
		outside, inside bool // Alice is let through
	}{
		{"open", lawOf(true), true, true},
		{"closed", lawOf(false), false, false},
		{"a request that is denied to all", lawOf(true, may(false, 0, "protocol.ctrl", "player_move", 0)), false, true},
		{"a request that is denied to them", lawOf(true, may(false, 7, "protocol.ctrl", "player_move", 0)), true, false},
		{"a request that is denied to another", lawOf(true, may(false, 8, "protocol.ctrl", "player_move", 0)), true, true},
		{"a right that is denied to them", lawOf(true, may(false, 7, "game.move", "play", 0)), true, false},
		{"closed to all but them", lawOf(false, may(true, 7, "protocol.ctrl", "*", 0), may(true, 7, "game.move", "play", 0)), true, true},
	} {
		if got := tc.law.DenyAnybody(epoch, wire.CtrlPlayerMove) == nil; got != tc.outside {
			t.Errorf("%s: outside got %v, want %v", tc.name, got, tc.outside)
		}
		if got := tc.law.DenyPlayer(epoch, alice, wire.CtrlPlayerMove, play) == nil; got != tc.inside {
			t.Errorf("%s: inside got %v, want %v", tc.name, got, tc.inside)
		}
	}
}

// TestPlaces: who may see which profile, and what its terms are.
func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name   string
		law    *Policy
		stored int
		want   bool
	}{
		{"too little trust", lawOf(true), 1, false},
		{"enough trust", lawOf(true), 2, true},
		{"trust by a rule", lawOf(true, may(true, 7, "trust.tier", "tier", 3)), 0, true},
		{"a rule for the profile", lawOf(true, may(true, 7, "profile.discover.override", "profile:club", 0)), 0, true},
		{"a rule against its group", lawOf(true, may(false, 0, "profile.discover.override", "profile_selector:blue", 0)), 5, false},
	} {
		if got := tc.law.Discovers(epoch, alice, tc.stored, tc.law.Place([]byte("club"))); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
	l := lawOf(true)
	if l.Place(nil) != &l.Own || l.Place([]byte("here")) != &l.Own || l.Place([]byte("nowhere")) != nil ||
		len(l.Places) != 2 {
		t.Errorf("got %+v", l.Places)
	}
	if club := l.Place([]byte("club")); club.Terms.Text != "be kind" || club.Terms.Hash == l.Own.Terms.Hash {
		t.Errorf("got %+v", club.Terms)
	}
}

func TestMayReadStats(t *testing.T) {
	shy := may(false, 0, "stats.read", "player", 0)
	shy.ContextKey, shy.ContextValue = "target.identity_tag", "shy"
	l := lawOf(true, shy)
	if l.MayReadStats(epoch, alice, Who{ID: 9}) || !l.MayReadStats(epoch, alice, Who{ID: 8}) ||
		!l.MayReadStats(epoch, alice, Who{}) {
		t.Error("the rule is about those who are shy, and about nobody else")
	}
}

// TestCaps: each bit has a row, and each row requires the rights it names.
func TestCaps(t *testing.T) {
	var all wire.SessionCaps
	for i, c := range capabilities {
		if c.bit == 0 || all&c.bit != 0 || len(c.requests)+len(c.rights) == 0 {
			t.Errorf("row %d has no bit of its own, or needs nothing", i)
		}
		all |= c.bit
	}
	if all != 0x3ff {
		t.Errorf("got bits %03x, want 3ff", all)
	}
	if got := lawOf(true).Caps(epoch, Who{}); got != all {
		t.Errorf("open: got %03x, want %03x", got, all)
	}
	if got := lawOf(false).Caps(epoch, Who{}); got != 0 {
		t.Errorf("closed: got %03x, want 0", got)
	}
	for _, c := range capabilities {
		for _, right := range c.rights {
			if got := lawOf(true, may(false, 7, right.Action, right.Resource, 0)).Caps(epoch, alice); got&c.bit != 0 {
				t.Errorf("%v is denied: got %03x", right, got)
			}
		}
		for _, ctrl := range c.requests {
			if got := lawOf(true, may(false, 7, "protocol.ctrl", RequestName(ctrl), 0)).Caps(epoch,
				alice); got&c.bit != 0 {
				t.Errorf("%v is denied: got %03x", ctrl, got)
			}
		}
	}
}
