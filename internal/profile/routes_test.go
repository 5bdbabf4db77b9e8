package profile

import (
	"net/netip"
	"strconv"
	"testing"

	"wamble"
	"wamble/wire"
)

// TestRoutes: every request has exactly one row, and other control codes have none.
func TestRoutes(t *testing.T) {
	rows := map[wire.Control]int{}
	for _, row := range routes {
		rows[row.ctrl]++
		if row.handle == nil {
			t.Errorf("%v has no handler", row.ctrl)
		}
		if row.needsPlayer && row.lookup != storeLookup {
			t.Errorf("%v needs a player, but does not look for one", row.ctrl)
		}
	}
	for _, a := range wamble.PolicyActions {
		for _, row := range routes {
			if a.Privilege && (a.Name == row.needs.Action || a.Name == "protocol.ctrl") {
				t.Errorf("%v asks for the privilege %s, which a profile without rules does not give", row.ctrl, a.Name)
			}
		}
	}
	for _, c := range wire.Controls() {
		want := 0
		if c.Request() {
			want = 1
		}
		if got := rows[c]; got != want {
			t.Errorf("%v has %d rows, want %d", c, got, want)
		}
	}
}

// TestCapabilities: a session may do what the policy allows and what is not switched off.
func TestCapabilities(t *testing.T) {
	p := New(Options{Config: configOf(t, ""), Now: epoch})
	if got, want := p.caps(nil),
		wire.MayAttachIdentity|wire.MayLogout|wire.MayMove|wire.MayReadStats|wire.MayReadLeaderboard|wire.MayWatchSummary|wire.MayWatchFocus|wire.MaySeeGameMode; got != want {
		t.Errorf("got %03x, want %03x", got, want)
	}
	p = New(Options{Config: configOf(t, `(def policy-default "deny")`), Now: epoch})
	if got, want := p.caps(nil), wire.SessionCaps(0); got != want {
		t.Errorf("denied: got %03x, want %03x", got, want)
	}
}

// minimal is the shortest packet of a control code.
func minimal(t *testing.T, c wire.Control, token wamble.Token, seq uint32) []byte {
	t.Helper()
	for n := range 128 {
		payload := make([]byte, n)
		b := encode(wire.Header{Ctrl: c, Token: token, Seq: seq}, wire.Unknown{Payload: payload})
		var p wire.Packet
		if p.Decode(b) == nil {
			return b
		}
	}
	t.Fatalf("%v: no payload of zeros is a packet", c)
	return nil
}

func itoa(n uint32) string { return strconv.Itoa(int(n)) }

func addrPort(p wamble.Peer, port uint16) netip.AddrPort { return netip.AddrPortFrom(p.IP(), port) }

func prefixOf(p wamble.Peer) netip.Prefix { return netip.PrefixFrom(p.IP(), p.IP().BitLen()) }
