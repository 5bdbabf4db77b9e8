package profile

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/internal/tokenbucket"
	"wamble/wire"
)

// unknownTokens is a cache of tokens that are not in memory: those that the store was asked about without
// success, and the hosts that sent them. Tokens that the store has do not count, so any number of players
// may return at once.
type unknownTokens struct {
	tokens   *lru.Table[wamble.Token, unknownToken]
	hosts    *lru.Table[netip.Prefix, hostMisses]
	unproven missBuckets // of all unproven addresses together
}

// unknownToken is why a token has no session, and until when that is cached.
type unknownToken struct {
	outcome Outcome
	until   time.Duration
}

const (
	maxUnknownTokens = 256
	unknownTokenTTL  = 500 * time.Millisecond
)

// missBuckets is two token buckets, [0] for other requests and [1] for hellos.
type missBuckets [2]tokenbucket.Bucket

// A host may send 64 unknown tokens, and then 16 a second; all unproven addresses together 256, and then
// 256 a second.
var (
	ofHost     = tokenbucket.Limit{Rate: 16, Per: time.Second, Burst: 64}
	ofUnproven = tokenbucket.Limit{Rate: 256, Per: time.Second, Burst: 256}
)

// hostMisses is the unknown tokens of a host, and when it may next get the answer that there were too many.
type hostMisses struct {
	missBuckets
	warnAt time.Duration
}

const (
	maxHosts  = 1 << 12
	warnEvery = time.Second
)

func newUnknownTokens() unknownTokens {
	return unknownTokens{
		tokens: lru.New[wamble.Token, unknownToken](maxUnknownTokens),
		hosts:  lru.New[netip.Prefix, hostMisses](maxHosts),
	}
}

// add records that the store had no session for a token, or has failed. It takes a token of the buckets even if none
// is left, since loads may be under way.
func (u *unknownTokens) add(now time.Duration, token wamble.Token, o Outcome, from requester) {
	*u.tokens.Use(token) = unknownToken{o, now + unknownTokenTTL}
	if o != NotFound {
		return
	}
	u.hosts.Use(from.host).missBuckets[oneIf(from.hello)].Spend(now, 1, ofHost)
	if !from.proven {
		u.unproven[oneIf(from.hello)].Spend(now, 1, ofUnproven)
	}
}

// mayAsk reports whether the store may be asked about one more unknown token of an asker.
func (u *unknownTokens) mayAsk(now time.Duration, from requester) bool {
	if m := u.hosts.Find(from.host); m != nil && !m.missBuckets[oneIf(from.hello)].Has(now, 1, ofHost) {
		return false
	}
	return from.proven || u.unproven[oneIf(from.hello)].Has(now, 1, ofUnproven)
}

// find returns the cached outcome for a token; Found if there is none.
func (u *unknownTokens) find(now time.Duration, token wamble.Token) Outcome {
	if u := u.tokens.Find(token); u != nil && now < u.until {
		return u.outcome
	}
	return Found
}

// forgetFailures empties the cache of tokens.
func (u *unknownTokens) forgetFailures() {
	u.tokens = lru.New[wamble.Token, unknownToken](maxUnknownTokens)
}

// lookUp asks the store for the session of r. It denies the request if the store has just failed to answer,
// and refuses it if the asker has sent too many unknown tokens.
func (p *Profile) lookUp(r *request, out *Output) verdict {
	if p.unstored.any() && p.unstored.tokens[r.h.Token.Hash()] {
		return p.deny(r, errAway)
	}
	switch p.unknownTokens.find(p.clock.since, r.h.Token) {
	case Away:
		return p.deny(r, errAway)
	case Broken:
		return p.deny(r, brokenOf(SessionOf))
	}
	if !p.unknownTokens.mayAsk(p.clock.since, p.requesterOf(r)) {
		return p.denyUnknownToken(r, out)
	}
	return p.ask(r, p.askSession(r), out)
}

// denyUnknownToken refuses a request that may be looked up later. Its host gets the reason at most once a second: more
// answers would cost more than the requests of a flood.
func (p *Profile) denyUnknownToken(r *request, out *Output) verdict {
	reason := ""
	if h := p.unknownTokens.hosts.Use(p.requesterOf(r).host); p.clock.since >= h.warnAt {
		h.warnAt = p.clock.since + warnEvery
		reason = errBusy.Reason
	}
	p.denyUndecided(r.id, r.h, reason, out)
	return forgotten
}

// requester describes the sender of a request that causes a load.
type requester struct {
	host   netip.Prefix
	hello  bool
	proven bool // the address receives what is sent to it
	known  bool // the sender has a session
}

func (n *network) requesterOf(r *request) requester {
	from, _ := n.link.Peer(r.id)
	return requester{
		host: wamble.HostOf(from.IP()), hello: r.h.Ctrl == wire.CtrlClientHello,
		proven: n.link.Proven(r.id), known: r.session != nil,
	}
}

// hasRoomFor reports whether there is room for one more load of an asker. A host may have as many loads as it
// leaves room for, so no host fills the room. A part of the room is reserved: askers without session leave
// some to players, those from unproven addresses some to proven ones, and both some to hellos.
func (ls *loads) hasRoomFor(a requester) bool {
	reserve := ls.max * 3 / 4
	switch {
	case a.known, a.hello && a.proven:
		reserve = 0
	case a.hello, a.proven:
		reserve = ls.max / 4
	}
	return ls.byHost[a.host] < ls.max-reserve-len(ls.byID)
}
