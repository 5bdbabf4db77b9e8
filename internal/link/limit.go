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
)

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

// check counts a request. Hellos count for the host, whatever token they carry:
// an invented token must not open a fresh counter.
func (l *limiter) check(now time.Duration, cfg *Config, from wamble.Peer, h *wire.Header) limitVerdict {
	if cfg.HostRate <= 0 && cfg.TokenRate <= 0 {
		return within
	}
	if cfg.Bypass != nil && cfg.Bypass(from, *h) {
		return within
	}
	host := hostKey(from)
	if v := l.count(now, cfg.HostRate, limitKey{ofHost, host}); v != within {
		return v
	}
	if h.Token.IsZero() || h.Ctrl == wire.CtrlClientHello {
		return l.count(now, cfg.TokenRate, limitKey{ofAnonymous, host})
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
