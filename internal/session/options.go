package session

import (
	"time"

	"wamble"
)

// Options is the sessions' part of a profile's configuration.
type Options struct {
	MaxPlayers  int           // bound of fresh and live sessions
	Unconfirmed time.Duration // a new session that is silent for so long ends
	Away        time.Duration // a session that is silent for so long leaves memory
	Expiration  time.Duration // a session that is silent for so long ends
	// Lifetime is how long the token of an identity is valid without a visit; 0: forever.
	Lifetime time.Duration
	// NewPerHost bounds the new sessions per minute of one IPv4 address, or one IPv6 /56; 0: no bound.
	NewPerHost int
	// Logins bounds the signatures verified per minute for one such address; 0: no bound.
	Logins        int
	TokenAttempts int // tokens drawn for one session before ErrEntropy
	DefaultRating float64
	Shard         wamble.Shard // its tokens are drawn
}

// storeActivityEvery is the shortest time between two stored signs of life.
const storeActivityEvery = time.Minute

// challengeTTL is how long a challenge can be answered.
const challengeTTL = 30 * time.Second
