package link

import (
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// limiter counts requests in windows of one second, each of which begins with its first
// request.
type limiter struct {
	counters *lru.Table[limitKey, counter]
}

type limitKey struct {
	kind limitKind
	id   hostID
}

type limitKind uint8

const (
	ofHost      limitKind = iota + 1 // all requests of a host
	ofAnonymous                      // hellos and requests without a token of a host
	ofToken
	perSource // stride between the keys of sources: ofHost and ofAnonymous are counted per source
)

// source is how sure the sender of a request is. Each source has counters of its own, so that a
// forged address uses up none of the owner's.
type source limitKind

const (
	unproven source = iota // the address may be forged
	proven                 // a datagram with a cookie, or with a token that was sent to a proven address
	stream                 // over a connection
	sources
)

// sourceOf returns the source of a request.
func (e *Endpoint) sourceOf(in *incoming) source {
	from, h := in.from, in.Header
	switch {
	case from.Stream():
		return stream
	case in.shown:
		return proven
	case h.Token.IsZero():
		return unproven
	}
	if sess := e.table.byToken[h.Token]; sess != nil && sess.home.proof.covers(h.Token) {
		return proven
	}
	if path := e.table.paths[from]; path != nil && path.proof.covers(h.Token) {
		return proven
	}
	return unproven
}

type counter struct {
	start  time.Duration
	n      int
	warned bool
}

// limitVerdict is the decision about a request.
type limitVerdict uint8

const (
	within limitVerdict = iota
	overWarn
	overSilent
)

// withinLimits counts a request.
func (e *Endpoint) withinLimits(now time.Duration, in *incoming) limitVerdict {
	if e.cfg.HostRate <= 0 && e.cfg.TokenRate <= 0 {
		return within
	}
	if e.cfg.Bypass != nil && e.cfg.Bypass(in.from, *in.Header) {
		return within
	}
	return e.limits.check(now, &e.cfg, in.from, in.Header, e.sourceOf(in))
}

// check counts a request. A hello counts for the host, even with a token: an invented token
// must not open a new counter.
func (l *limiter) check(now time.Duration, cfg *Config, from wamble.Peer, h *wire.Header, source source) limitVerdict {
	host, by := hostKey(from), limitKind(source)*perSource
	if v := l.count(now, cfg.HostRate, limitKey{ofHost + by, host}); v != within {
		return v
	}
	if h.Token.IsZero() || h.Ctrl == wire.CtrlClientHello {
		return l.count(now, cfg.TokenRate, limitKey{ofAnonymous + by, host})
	}
	key := limitKey{kind: ofToken}
	copy(key.id[:], h.Token[:])
	return l.count(now, cfg.TokenRate, key)
}

func (l *limiter) count(now time.Duration, rate int, key limitKey) limitVerdict {
	if rate <= 0 {
		return within
	}
	c := l.counters.Use(key)
	if c.n == 0 || now-c.start >= time.Second {
		*c = counter{start: now}
	}
	if c.n < rate {
		c.n++
		return within
	}
	if c.warned {
		return overSilent
	}
	c.warned = true
	return overWarn
}
