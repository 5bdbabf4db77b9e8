package profile

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// strangers is what is known of tokens that are not in memory: the last ones
// that the store was asked about in vain, and who has sent them. Only what the
// store does not know counts, so that any number of players may return at once.
type strangers struct {
	unknown  *lru.Table[wamble.Token, unknown]
	hosts    *lru.Table[netip.Prefix, hostMisses]
	unproven misses // of all unproven addresses together
}

// unknown is why a token names nobody, and until when that is believed.
type unknown struct {
	outcome Outcome
	until   time.Duration
}

const (
	maxUnknown = 256
	unknownTTL = 500 * time.Millisecond
)

// misses is two token buckets, for hellos and for other requests: each holds the
// time when all that was taken has come back.
type misses [2]time.Duration

// bucket is how fast what was taken comes back, and how much may be taken at once.
type bucket struct{ every, burst time.Duration }

// 64 unknown tokens of a host, and then 16 a second; 256 of all unproven addresses
// together, and then 256 a second.
var (
	ofHost     = bucket{every: time.Second / 16, burst: 4 * time.Second}
	ofUnproven = bucket{every: time.Second / 256, burst: time.Second}
)

// hostMisses is what is known of a host: its unknown tokens, and when it is told
// again that there were too many.
type hostMisses struct {
	misses
	tell time.Duration
}

const (
	maxHosts  = 1 << 12
	tellEvery = time.Second
)

// take takes one, also if none is left: loads may be under way. The debt is
// bounded by the burst.
func (m *misses) take(now time.Duration, hello int64, b bucket) {
	m[hello] = min(max(m[hello], now)+b.every, now+2*b.burst)
}

// left reports whether there is one left.
func (m *misses) left(now time.Duration, hello int64, b bucket) bool {
	return m[hello]+b.every <= now+b.burst
}

func newStrangers() strangers {
	return strangers{unknown: lru.New[wamble.Token, unknown](maxUnknown), hosts: lru.New[netip.Prefix, hostMisses](maxHosts)}
}

// missed takes down that the store had no session for a token that somebody has
// sent, or failed.
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

// mayAsk reports whether somebody may have one more token looked for.
func (s *strangers) mayAsk(now time.Duration, by asker) bool {
	if m := s.hosts.Find(by.host); m != nil && !m.left(now, oneIf(by.hello), ofHost) {
		return false
	}
	return by.proven || s.unproven.left(now, oneIf(by.hello), ofUnproven)
}

// find returns what the store said of a token a moment ago; Found if nothing is
// known.
func (s *strangers) find(now time.Duration, token wamble.Token) Outcome {
	if u := s.unknown.Find(token); u != nil && now < u.until {
		return u.outcome
	}
	return Found
}

// reconsider forgets what the store has failed to say.
func (s *strangers) reconsider() { s.unknown = lru.New[wamble.Token, unknown](maxUnknown) }

// lookUp asks the store whose request r is, or denies the request if the store has
// failed to say so a moment ago, or was asked in vain too often.
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

// turnStranger refuses a request that may be looked up later. Its host is told once a
// second: answers would cost more than the requests of a flood.
func (p *Profile) turnStranger(r *request, out *Output) verdict {
	reason := ""
	if h := p.strangers.hosts.Use(p.askerOf(r).host); p.clock.since >= h.tell {
		h.tell = p.clock.since + tellEvery
		reason = errBusy.Reason
	}
	p.abandon(r.id, r.h, reason, out)
	return gone
}

// asker is who causes a load.
type asker struct {
	host   netip.Prefix
	hello  bool
	proven bool // the address receives what is sent to it
	known  bool // he has a session
}

func (p *Profile) askerOf(r *request) asker {
	from, _ := p.link.Peer(r.id)
	return asker{
		host: wamble.HostOf(from.IP()), hello: r.h.Ctrl == wire.CtrlClientHello,
		proven: p.link.Proven(r.id), known: r.session != nil,
	}
}

// admits reports whether there is room for one more load of an asker. A host may
// have as many as it leaves room for others, so that no host fills the room; and
// strangers leave some of it to players, strangers from unproven addresses to the
// others, and all to hellos.
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
