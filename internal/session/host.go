package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
)

// hosts counts what each host (see wamble.HostOf) has done lately.
type hosts struct {
	sessions [2]*lru.Table[netip.Prefix, bucket] // new ones: by datagrams, which may be forged, and over connections
	logins   *lru.Table[netip.Prefix, bucket]    // signatures that were verified
	all      bucket                              // signatures of all hosts together
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
		sessions: [2]*lru.Table[netip.Prefix, bucket]{lru.New[netip.Prefix, bucket](maxHosts), lru.New[netip.Prefix, bucket](maxHosts)},
		logins:   lru.New[netip.Prefix, bucket](maxHosts),
	}
}

// admit counts one more session of a host, and reports whether it is within the
// allowance per minute; 0 is no bound.
func (h *hosts) admit(now int64, from wamble.Peer, allowance int) bool {
	if allowance <= 0 {
		return true
	}
	host := wamble.HostOf(from.IP())
	return host.IsValid() && h.by(from).Use(host).take(now, allowance)
}

// Newcomer is where a new session has come from.
type Newcomer struct {
	Host   netip.Prefix
	Stream bool // over a connection
}

// Came counts new sessions of other shards.
func (t *Table) Came(now time.Time, list []Newcomer) {
	at := t.tick(now)
	for _, n := range list {
		if t.opts.NewPerHost > 0 && n.Host.IsValid() {
			t.hosts.sessions[oneIf(n.Stream)].Use(n.Host).take(at, t.opts.NewPerHost)
		}
	}
}

// TakeCame appends the new sessions since the last call, if other shards are to count
// them.
func (t *Table) TakeCame(dst []Newcomer) []Newcomer {
	dst = append(dst, t.came...)
	t.came = t.came[:0]
	return dst
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// by returns the allowances that an address uses.
func (h *hosts) by(from wamble.Peer) *lru.Table[netip.Prefix, bucket] {
	if from.Stream() {
		return h.sessions[1]
	}
	return h.sessions[0]
}

// exhausted reports whether a host has no session left of its allowance.
func (h *hosts) exhausted(now int64, from wamble.Peer, allowance int) bool {
	b := h.by(from).Find(wamble.HostOf(from.IP()))
	if b == nil || allowance <= 0 {
		return false
	}
	try := *b
	return !try.take(now, allowance)
}

// maxSignatures is how many signatures a minute are verified for all hosts
// together: at about 0.2 ms each, a twentieth of a core.
const maxSignatures = 15000

// mayVerify counts one more signature of a host, and reports whether it is within
// the allowances per minute of the host and of all; 0 is no bound. The second half
// of what all have is kept for hosts that have tried nothing lately, so that those
// who try all the time do not lock out the others. No key has an allowance of its
// own: anybody could use up that of somebody else.
func (h *hosts) mayVerify(now int64, ip netip.Addr, allowance int) bool {
	if allowance <= 0 {
		return true
	}
	host := wamble.HostOf(ip)
	if !host.IsValid() {
		return false
	}
	own := h.logins.Use(host)
	if h.all.usedAt(now, maxSignatures) > maxSignatures/2 && own.usedAt(now, allowance) >= 1 {
		return false
	}
	return own.take(now, allowance) && h.all.take(now, maxSignatures)
}

// usedAt returns what is used of the allowance at a time.
func (b *bucket) usedAt(now int64, allowance int) float64 {
	return max(0, b.used-float64(now-b.at)/minute*float64(allowance))
}

// take uses one of the allowance, if one is left.
func (b *bucket) take(now int64, allowance int) bool {
	b.used, b.at = b.usedAt(now, allowance), now
	if b.used+1 > float64(allowance) {
		return false
	}
	b.used++
	return true
}
