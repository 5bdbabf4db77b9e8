package readapi

import (
	"net/netip"
	"sync"
	"time"

	"wamble"
)

// limiter has a token bucket for each host (see wamble.HostOf). Loopback addresses are not
// limited, because they may be a proxy with many clients, or the host's own tools.
type limiter struct {
	now  func() time.Time
	rate float64 // requests a second; the burst is three seconds' worth

	mu    sync.Mutex
	hosts map[netip.Prefix]bucket
}

// bucket is a token bucket, as the number of tokens that are used.
type bucket struct {
	used float64
	at   time.Time
}

const maxHosts = 8192

func newLimiter(now func() time.Time, rate float64) *limiter {
	return &limiter{now: now, rate: rate, hosts: map[netip.Prefix]bucket{}}
}

// admit counts a request, and reports whether it is within the limit.
func (d *limiter) admit(ip netip.Addr) bool {
	if ip.Unmap().IsLoopback() {
		return true
	}
	host := wamble.HostOf(ip)
	if !host.IsValid() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	v, known := d.hosts[host]
	if !known && len(d.hosts) >= maxHosts && !d.makeRoom(now) {
		return false
	}
	v.used = max(0, v.used-now.Sub(v.at).Seconds()*d.rate)
	v.at = now
	admitted := v.used+1 <= 3*d.rate
	if admitted {
		v.used++
	}
	d.hosts[host] = v
	return admitted
}

// makeRoom removes the hosts whose buckets are full again, and reports whether there is room.
func (d *limiter) makeRoom(now time.Time) bool {
	for host, v := range d.hosts {
		if now.Sub(v.at).Seconds()*d.rate >= v.used {
			delete(d.hosts, host)
		}
	}
	return len(d.hosts) < maxHosts
}
