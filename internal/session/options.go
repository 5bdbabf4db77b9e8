package session

import (
	"time"

	"wamble"
)

// Options is what a profile's config says about its sessions.
type Options struct {
	MaxPlayers  int           // fresh and live sessions
	Unconfirmed time.Duration // silent for so long after its hello, a new session is over
	Away        time.Duration // silent for so long, a session leaves memory
	Expiration  time.Duration // silent for so long, a session is over
	// Lifetime is how long the token of an identity is good without a visit; 0: for
	// ever.
	Lifetime time.Duration
	// NewPerHost is how many new sessions a minute one IPv4 address, or one /56
	// of IPv6, may make; 0: no bound.
	NewPerHost int
	// Logins is how many signatures a minute are verified for one such address;
	// 0: no bound.
	Logins        int
	TokenAttempts int // tokens drawn for one session before ErrEntropy
	DefaultRating float64
	Shard         wamble.Shard // whose tokens are drawn
}

// noteEvery is how often the time of a sign of life is stored.
const noteEvery = time.Minute

// challengeTTL is how long a challenge can be answered.
const challengeTTL = 30 * time.Second
