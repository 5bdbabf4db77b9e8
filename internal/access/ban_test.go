package access

import (
	"net/netip"
	"testing"
	"time"

	"wamble"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestBans(t *testing.T) {
	var bs Bans
	hour := epoch.Add(time.Hour)
	for _, b := range []Ban{
		{Token: wamble.Token{1}.Hash(), Reason: "spam", Until: hour},
		{Key: wamble.PublicKey{2}},
		{Net: netip.MustParsePrefix("::ffff:10.0.0.0/104"), Reason: "zeal"},
		{Net: netip.MustParsePrefix("10.0.0.0/24"), Reason: "a flood"},
		{Net: netip.MustParsePrefix("2001:db8::1/64")},
		{Token: wamble.Token{9}.Hash(), Until: epoch}, // has ended
	} {
		if err := bs.Add(epoch, b); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(bs.All()); n != 5 || !bs.OfPeers() {
		t.Errorf("%d bans hold, want 5", n)
	}
	for _, tc := range []struct {
		name  string
		now   time.Time
		from  string
		token wamble.Token
		want  string // "": not refused
	}{
		{"a token, from anywhere", epoch, "192.0.2.1", wamble.Token{1}, "banned: spam"},
		{"a token after its end", hour, "192.0.2.1", wamble.Token{1}, ""},
		{"another token", epoch, "192.0.2.1", wamble.Token{3}, ""},
		{"a network", epoch, "10.9.0.1", wamble.Token{}, "banned: zeal"},
		{"two networks: the lesser text", epoch, "10.0.0.7", wamble.Token{}, "banned: a flood"},
		{"in the form of IPv6", epoch, "::ffff:10.0.0.7", wamble.Token{}, "banned: a flood"},
		{"IPv6", epoch, "2001:db8::77", wamble.Token{}, "you are banned from this server"},
		{"a neighbour", epoch, "11.0.0.1", wamble.Token{}, ""},
	} {
		got := ""
		if d := bs.Of(tc.now, netip.MustParseAddr(tc.from), tc.token); d != nil {
			got = d.Reason
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	if bs.OfKey(epoch, wamble.PublicKey{2}) == nil || bs.OfKey(epoch, wamble.PublicKey{}) != nil {
		t.Error("an identity is not told from nobody")
	}
	for _, b := range bs.All() {
		bs.Remove(b)
	}
	if bs.OfPeers() || bs.OfKey(epoch, wamble.PublicKey{2}) != nil || len(bs.bits) != 0 {
		t.Errorf("got %+v, want nothing", bs)
	}
}

func TestBansAreBounded(t *testing.T) {
	var bs Bans
	net := func(n int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 32)
	}
	add := func(n int, until time.Time) error { return bs.Add(epoch, Ban{Net: net(n), Until: until}) }
	for n := range MaxBans {
		if err := add(n, epoch.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(MaxBans, time.Time{}); err == nil {
		t.Error("one too many was taken")
	}
	if err := add(5, time.Time{}); err != nil {
		t.Errorf("a known one was refused: %v", err)
	}
	bs.sweep(epoch.Add(2 * time.Hour))
	if len(bs.nets) != 1 || len(bs.bits) != 1 {
		t.Errorf("%d bans of %d lengths are left, want the one without an end", len(bs.nets), len(bs.bits))
	}
	bs.Remove(Ban{Net: net(5)})
	if len(bs.nets)+len(bs.bits) != 0 {
		t.Errorf("got %+v, want nothing", bs)
	}
}
