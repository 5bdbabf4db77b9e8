package wamble_test

import (
	"net/netip"
	"testing"

	"wamble"
)

func TestHostOf(t *testing.T) {
	for ip, want := range map[string]string{
		"192.0.2.1":              "192.0.2.1/32",
		"::ffff:192.0.2.1":       "192.0.2.1/32",
		"2001:db8:1:2:3::4%eth0": "2001:db8:1::/56",
		"":                       "invalid Prefix",
	} {
		address, _ := netip.ParseAddr(ip)
		if got := wamble.HostOf(address).String(); got != want {
			t.Errorf("%q: got %s, want %s", ip, got, want)
		}
	}
}
