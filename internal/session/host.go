package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
)

// hosts counts the recent actions of each host (see wamble.HostOf).
type hosts struct {
	sessions [2]*lru.Table[netip.Prefix, bucket] // new: by datagrams, which may be forged, and over connections
	logins   *lru.Table[netip.Prefix, bucket]    // verified signatures
	all      bucket                              // signatures of all hosts together
}

// maxHosts is the size of each LRU.
const maxHosts = 1 << 14

// bucket is a token bucket that counts used tokens; they return evenly, the whole allowance in a minute.
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

// admit counts one more session of a host, and reports whether it is within the allowance per minute; 0
// means no bound.
func (h *hosts) admit(now int64, from wamble.Peer, allowance int) bool {
	if allowance <= 0 {
		return true
	}
	host := wamble.HostOf(from.IP())
	return host.IsValid() && h.sessionsOf(from).Use(host).take(now, allowance)
}

// Newcomer is the origin of a new session.
type Newcomer struct {
	Host   netip.Prefix
	Stream bool // over a connection
}

// CountNewcomers counts new sessions of other shards.
func (t *Table) CountNewcomers(now time.Time, list []Newcomer) {
	at := t.tick(now)
	for _, n := range list {
		if t.opts.NewPerHost > 0 && n.Host.IsValid() {
			t.hosts.sessions[oneIf(n.Stream)].Use(n.Host).take(at, t.opts.NewPerHost)
		}
	}
}

// TakeNewcomers appends the new sessions since the last call that other shards must count.
func (t *Table) TakeNewcomers(dst []Newcomer) []Newcomer {
	dst = append(dst, t.newcomers...)
	t.newcomers = t.newcomers[:0]
	return dst
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// sessionsOf returns the buckets for an address.
func (h *hosts) sessionsOf(from wamble.Peer) *lru.Table[netip.Prefix, bucket] {
	if from.Stream() {
		return h.sessions[1]
	}
	return h.sessions[0]
}

// exhausted reports whether a host has used up its allowance of sessions.
func (h *hosts) exhausted(now int64, from wamble.Peer, allowance int) bool {
	b := h.sessionsOf(from).Find(wamble.HostOf(from.IP()))
	if b == nil || allowance <= 0 {
		return false
	}
	try := *b
	return !try.take(now, allowance)
}

// maxSignatures bounds the signatures verified per minute for all hosts together: at about 0.2 ms each, a
// twentieth of a core.
const maxSignatures = 15000

// mayVerify counts one more signature of a host, and reports whether it is within the allowances per minute
// of the host and of all; 0 means no bound. The second half of the common allowance is for hosts that have
// tried nothing lately, so that others cannot lock them out. Keys have no allowance: anybody could use up
// that of another player.
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

// usedAt returns how much of the allowance is used at a time.
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
