package profile

import (
	"net/netip"
	"time"
)

// arrivals counts the new players of each IP address, of one /64 of IPv6, in
// the present minute.
type arrivals struct {
	since time.Duration
	count map[netip.Prefix]int
}

const (
	arrivalsEvery = time.Minute
	arrivalsKept  = 1 << 16 // addresses; when there are more the count begins anew
)

// admits counts one more player from ip, and reports whether that is within
// most; 0 is no bound.
func (a *arrivals) admits(now time.Duration, ip netip.Addr, most int) bool {
	if most == 0 {
		return true
	}
	if a.count == nil || now-a.since >= arrivalsEvery || len(a.count) >= arrivalsKept {
		a.since, a.count = now, map[netip.Prefix]int{}
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	network, err := ip.Prefix(bits)
	if err != nil || a.count[network] >= most {
		return false
	}
	a.count[network]++
	return true
}
