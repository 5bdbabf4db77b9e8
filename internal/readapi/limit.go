package readapi

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"wamble"
	"wamble/internal/tokenbucket"
)

// Limiter has a token bucket for each host (see wamble.HostOf). Loopback addresses are not
// limited, because they may be a proxy with many clients, or the host's own tools.
type Limiter struct {
	now   func() time.Time
	start time.Time
	limit tokenbucket.Limit

	mu    sync.Mutex
	hosts map[netip.Prefix]tokenbucket.Bucket
}

const maxHosts = 8192

// NewLimiter allows a host rate requests a second; the burst is three seconds' worth.
func NewLimiter(now func() time.Time, rate int) *Limiter {
	return &Limiter{
		now: now, start: now(), limit: tokenbucket.Limit{Rate: rate, Per: time.Second, Burst: 3 * rate},
		hosts: map[netip.Prefix]tokenbucket.Bucket{},
	}
}

// admit counts a request, and reports whether it is within the limit.
func (d *Limiter) admit(ip netip.Addr) bool {
	if ip.Unmap().IsLoopback() {
		return true
	}
	host := wamble.HostOf(ip)
	if !host.IsValid() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now().Sub(d.start)
	bucket, known := d.hosts[host]
	if !known && len(d.hosts) >= maxHosts && !d.makeRoom(now) {
		return false
	}
	admitted := bucket.Take(now, 1, d.limit)
	d.hosts[host] = bucket
	return admitted
}

// Limit answers requests of hosts that are beyond the limit with 429, and gives the others to next.
func (d *Limiter) Limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !d.admit(from.Addr()) {
			errOften.write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// makeRoom removes the hosts whose buckets are full again, and reports whether there is room.
func (d *Limiter) makeRoom(now time.Duration) bool {
	for host, bucket := range d.hosts {
		if bucket.Has(now, d.limit.Burst, d.limit) {
			delete(d.hosts, host)
		}
	}
	return len(d.hosts) < maxHosts
}
