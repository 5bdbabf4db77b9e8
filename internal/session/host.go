package session

import "net/netip"

// hosts counts the new sessions of each host: an IPv4 address, or a /64 of
// IPv6, which one machine usually has to itself.
type hosts struct {
	buckets lru[netip.Prefix, bucket]
}

// maxHosts is how many hosts are remembered; of more, the ones that were
// longest quiet are forgotten.
const maxHosts = 1 << 14

// bucket holds what a host has used of its allowance, which comes back evenly
// over a minute.
type bucket struct {
	used float64
	at   int64
}

const minute = 60e6 // microseconds

func newHosts() hosts { return hosts{newLRU[netip.Prefix, bucket](maxHosts)} }

// admit counts one more session of a host, and reports whether that is within
// its allowance per minute; 0 is no bound.
func (h *hosts) admit(now int64, ip netip.Addr, allowance int) bool {
	if allowance <= 0 {
		return true
	}
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	network, err := ip.Prefix(bits)
	if err != nil || !ip.IsValid() {
		return false
	}
	b := h.buckets.use(network)
	back := float64(now-b.at) / minute * float64(allowance)
	b.used, b.at = max(0, b.used-back), now
	if b.used+1 > float64(allowance) {
		return false
	}
	b.used++
	return true
}
