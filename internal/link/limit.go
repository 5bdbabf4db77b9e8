package link

import (
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// limiter counts requests in windows of one second, which begin with their
// first request.
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
	ofAnonymous                      // its hellos, and requests without a token
	ofToken
	perSource // ofHost and ofAnonymous are counted for each source: add it so often
)

// source is what is known of the sender of a request. Each has allowances of its
// own, so that whoever forges an address spends nothing of its owner's.
type source limitKind

const (
	unproven source = iota // anybody may have sent it
	proven                 // a datagram with a cookie, or with a token that was sent to a proven address
	stream                 // over a connection
	sources
)

// sourceOf returns the source of a request.
func (s *Server) sourceOf(in *incoming) source {
	from, h := in.from, in.Header
	switch {
	case from.Stream():
		return stream
	case in.shown:
		return proven
	case h.Token.IsZero():
		return unproven
	}
	if sess := s.table.byToken[h.Token]; sess != nil && sess.home.proof.covers(h.Token) {
		return proven
	}
	if e := s.table.endpoints[from]; e != nil && e.proof.covers(h.Token) {
		return proven
	}
	return unproven
}

type counter struct {
	start time.Duration
	n     int
	told  bool
}

// limitVerdict says what becomes of a request.
type limitVerdict uint8

const (
	within limitVerdict = iota
	overTell
	overSilent
)

// withinLimits counts a request.
func (s *Server) withinLimits(now time.Duration, in *incoming) limitVerdict {
	if s.cfg.HostRate <= 0 && s.cfg.TokenRate <= 0 {
		return within
	}
	if s.cfg.Bypass != nil && s.cfg.Bypass(in.from, *in.Header) {
		return within
	}
	return s.limits.check(now, &s.cfg, in.from, in.Header, s.sourceOf(in))
}

// check counts a request. Hellos count for the host, whatever token they carry:
// an invented token must not open a fresh counter.
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
	if c.told {
		return overSilent
	}
	c.told = true
	return overTell
}
