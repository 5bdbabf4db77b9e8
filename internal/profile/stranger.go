package profile

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// strangers is a cache of tokens that are not in memory: those that the store was asked about without
// success, and the hosts that sent them. Tokens that the store has do not count, so any number of players
// may return at once.
type strangers struct {
	unknown  *lru.Table[wamble.Token, unknown]
	hosts    *lru.Table[netip.Prefix, hostMisses]
	unproven misses // of all unproven addresses together
}

// unknown is why a token has no session, and until when that is cached.
type unknown struct {
	outcome Outcome
	until   time.Duration
}

const (
	maxUnknown = 256
	unknownTTL = 500 * time.Millisecond
)

// misses is two token buckets, [0] for other requests and [1] for hellos: each is the time at which the
// bucket is full again.
type misses [2]time.Duration

// bucket is the time in which one token returns, and the time worth of tokens that may be taken at once.
type bucket struct{ every, burst time.Duration }

// A host may send 64 unknown tokens, and then 16 a second; all unproven addresses together 256, and then
// 256 a second.
var (
	ofHost     = bucket{every: time.Second / 16, burst: 4 * time.Second}
	ofUnproven = bucket{every: time.Second / 256, burst: time.Second}
)

// hostMisses is the unknown tokens of a host, and when it may next be told that there were too many.
type hostMisses struct {
	misses
	tell time.Duration
}

const (
	maxHosts  = 1 << 12
	tellEvery = time.Second
)

// take takes a token, even if none is left, since loads may be under way. The debt is bounded by the burst.
func (m *misses) take(now time.Duration, hello int64, b bucket) {
	m[hello] = min(max(m[hello], now)+b.every, now+2*b.burst)
}

// left reports whether a token is left.
func (m *misses) left(now time.Duration, hello int64, b bucket) bool {
	return m[hello]+b.every <= now+b.burst
}

func newStrangers() strangers {
	return strangers{unknown: lru.New[wamble.Token, unknown](maxUnknown), hosts: lru.New[netip.Prefix, hostMisses](maxHosts)}
}

// missed records that the store had no session for a token, or has failed.
func (s *strangers) missed(now time.Duration, token wamble.Token, o Outcome, by asker) {
	*s.unknown.Use(token) = unknown{o, now + unknownTTL}
	if o != NotFound {
		return
	}
	s.hosts.Use(by.host).take(now, oneIf(by.hello), ofHost)
	if !by.proven {
		s.unproven.take(now, oneIf(by.hello), ofUnproven)
	}
}

// mayAsk reports whether the store may be asked about one more unknown token of an asker.
func (s *strangers) mayAsk(now time.Duration, by asker) bool {
	if m := s.hosts.Find(by.host); m != nil && !m.left(now, oneIf(by.hello), ofHost) {
		return false
	}
	return by.proven || s.unproven.left(now, oneIf(by.hello), ofUnproven)
}

// find returns the cached outcome for a token; Found if there is none.
func (s *strangers) find(now time.Duration, token wamble.Token) Outcome {
	if u := s.unknown.Find(token); u != nil && now < u.until {
		return u.outcome
	}
	return Found
}

// reconsider empties the cache of tokens.
func (s *strangers) reconsider() { s.unknown = lru.New[wamble.Token, unknown](maxUnknown) }

// lookUp asks the store for the session of r. It denies the request if the store has just failed to answer,
// and refuses it if the asker has sent too many unknown tokens.
func (p *Profile) lookUp(r *request, out *Output) verdict {
	if p.behind.any() && p.behind.tokens[r.h.Token.Hash()] {
		return p.deny(r, errAway)
	}
	switch p.strangers.find(p.clock.since, r.h.Token) {
	case Away:
		return p.deny(r, errAway)
	case Broken:
		return p.deny(r, brokenOf(SessionOf))
	}
	if !p.strangers.mayAsk(p.clock.since, p.askerOf(r)) {
		return p.turnStranger(r, out)
	}
	return p.ask(r, p.askSession(r), out)
}

// turnStranger refuses a request that may be looked up later. Its host is told at most once a second: more
// answers would cost more than the requests of a flood.
func (p *Profile) turnStranger(r *request, out *Output) verdict {
	reason := ""
	if h := p.strangers.hosts.Use(p.askerOf(r).host); p.clock.since >= h.tell {
		h.tell = p.clock.since + tellEvery
		reason = errBusy.Reason
	}
	p.abandon(r.id, r.h, reason, out)
	return gone
}

// asker describes the sender of a request that causes a load.
type asker struct {
	host   netip.Prefix
	hello  bool
	proven bool // the address receives what is sent to it
	known  bool // the sender has a session
}

func (p *Profile) askerOf(r *request) asker {
	from, _ := p.link.Peer(r.id)
	return asker{
		host: wamble.HostOf(from.IP()), hello: r.h.Ctrl == wire.CtrlClientHello,
		proven: p.link.Proven(r.id), known: r.session != nil,
	}
}

// admits reports whether there is room for one more load of an asker. A host may have as many loads as it
// leaves room for, so no host fills the room. A part of the room is reserved: askers without session leave
// some to players, those from unproven addresses some to proven ones, and both some to hellos.
func (ls *loads) admits(a asker) bool {
	reserve := ls.most * 3 / 4
	switch {
	case a.known, a.hello && a.proven:
		reserve = 0
	case a.hello, a.proven:
		reserve = ls.most / 4
	}
	return ls.byHost[a.host] < ls.most-reserve-len(ls.byID)
}
