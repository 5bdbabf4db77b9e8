package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
)

// hosts counts what each host (see wamble.HostOf) has done lately.
type hosts struct {
	sessions *lru.Table[netip.Prefix, bucket]     // new ones
	logins   *lru.Table[netip.Prefix, bucket]     // attempts
	keys     *lru.Table[wamble.PublicKey, bucket] // attempts with a key, from wherever
}

// maxHosts is the size of each LRU.
const maxHosts = 1 << 14

// bucket is a token bucket that counts what was used: it comes back evenly, the
// whole allowance in a minute.
type bucket struct {
	used float64
	at   int64
}

const minute = 60e6 // microseconds

func newHosts() hosts {
	return hosts{
		sessions: lru.New[netip.Prefix, bucket](maxHosts),
		logins:   lru.New[netip.Prefix, bucket](maxHosts),
		keys:     lru.New[wamble.PublicKey, bucket](maxHosts),
	}
}

// admit counts one more session of a host, and reports whether it is within the
// allowance per minute; 0 is no bound.
func (h *hosts) admit(now int64, ip netip.Addr, allowance int) bool {
	if allowance <= 0 {
		return true
	}
	host := wamble.HostOf(ip)
	return host.IsValid() && h.sessions.Use(host).take(now, allowance)
}

// MayLogin counts one more attempt to log in, and reports whether it is within
// the allowance of its host and of its key.
func (t *Table) MayLogin(now time.Time, ip netip.Addr, key wamble.PublicKey) bool {
	at := t.tick(now)
	if t.opts.Logins <= 0 {
		return true
	}
	host := wamble.HostOf(ip)
	return host.IsValid() && t.hosts.logins.Use(host).take(at, t.opts.Logins) && t.hosts.keys.Use(key).take(at, t.opts.Logins)
}

// take uses one of the allowance, if one is left.
func (b *bucket) take(now int64, allowance int) bool {
	back := float64(now-b.at) / minute * float64(allowance)
	b.used, b.at = max(0, b.used-back), now
	if b.used+1 > float64(allowance) {
		return false
	}
	b.used++
	return true
}
