package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/internal/tokenbucket"
)

// hosts counts the recent actions of each host (see wamble.HostOf).
type hosts struct {
	sessions [2]*buckets        // new: by datagrams, which may be forged, and over connections
	logins   *buckets           // verified signatures
	all      tokenbucket.Bucket // signatures of all hosts together
}

type buckets = lru.Table[netip.Prefix, tokenbucket.Bucket]

// maxHosts is the size of each LRU.
const maxHosts = 1 << 14

func newHosts() hosts {
	empty := func() *buckets { return lru.New[netip.Prefix, tokenbucket.Bucket](maxHosts) }
	return hosts{sessions: [2]*buckets{empty(), empty()}, logins: empty()}
}

// perMinute is an allowance that returns evenly within a minute.
func perMinute(allowance int) tokenbucket.Limit {
	return tokenbucket.Limit{Rate: allowance, Per: time.Minute, Burst: allowance}
}

// sinceEpoch is a time in microseconds as a duration.
func sinceEpoch(now int64) time.Duration { return time.Duration(now) * time.Microsecond }

// admit counts one more session of a host, and reports whether it is within the allowance per minute; 0
// means no bound.
func (h *hosts) admit(now int64, from wamble.Peer, allowance int) bool {
	if allowance <= 0 {
		return true
	}
	host := wamble.HostOf(from.IP())
	return host.IsValid() && h.sessionsOf(from).Use(host).Take(sinceEpoch(now), 1, perMinute(allowance))
}

// Newcomer is the origin of a new session.
type Newcomer struct {
	Host   netip.Prefix
	Stream bool // over a connection
}

// CountNewcomers counts new sessions of other shards.
func (t *Table) CountNewcomers(now time.Time, list []Newcomer) {
	at := sinceEpoch(t.tick(now))
	for _, n := range list {
		if t.opts.NewPerHost > 0 && n.Host.IsValid() {
			t.hosts.sessions[oneIf(n.Stream)].Use(n.Host).Take(at, 1, perMinute(t.opts.NewPerHost))
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
func (h *hosts) sessionsOf(from wamble.Peer) *buckets {
	if from.Stream() {
		return h.sessions[1]
	}
	return h.sessions[0]
}

// exhausted reports whether a host has used up its allowance of sessions.
func (h *hosts) exhausted(now int64, from wamble.Peer, allowance int) bool {
	b := h.sessionsOf(from).Find(wamble.HostOf(from.IP()))
	return b != nil && allowance > 0 && !b.Has(sinceEpoch(now), 1, perMinute(allowance))
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
	own, at := h.logins.Use(host), sinceEpoch(now)
	ofHost, ofAll := perMinute(allowance), perMinute(maxSignatures)
	if !h.all.Has(at, maxSignatures/2, ofAll) && !own.Has(at, allowance-1, ofHost) {
		return false
	}
	return own.Take(at, 1, ofHost) && h.all.Take(at, 1, ofAll)
}
