package readapi

import (
	"net/netip"
	"sync"
	"time"
)

// door counts what each host asks: an IPv4 address, or a /64 of IPv6. This
// machine itself is not counted: its proxy speaks for many, and its tools for the
// host.
type door struct {
	now  func() time.Time
	rate float64 // requests a second; three seconds' worth may come at once

	mu    sync.Mutex
	hosts map[netip.Prefix]visits
}

// visits is what a host has used of its allowance.
type visits struct {
	used float64
	at   time.Time
}

const maxHosts = 8192

func newDoor(now func() time.Time, rate float64) *door {
	return &door{now: now, rate: rate, hosts: map[netip.Prefix]visits{}}
}

// admit counts a request, and reports whether it is within the allowance.
func (d *door) admit(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() {
		return true
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	host, err := ip.Prefix(bits)
	if err != nil || !ip.IsValid() {
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

// makeRoom forgets the hosts that have their whole allowance again.
func (d *door) makeRoom(now time.Time) bool {
	for host, v := range d.hosts {
		if now.Sub(v.at).Seconds()*d.rate >= v.used {
			delete(d.hosts, host)
		}
	}
	return len(d.hosts) < maxHosts
}
