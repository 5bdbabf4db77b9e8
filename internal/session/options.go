package session

import "time"

// Options is what a profile's config says about its sessions.
type Options struct {
	MaxPlayers  int           // fresh and live sessions
	Unconfirmed time.Duration // a new session that is never heard of again
	Away        time.Duration // silent for so long, a session goes to the store
	Expiration  time.Duration // silent for so long, it is over
	// NewPerHost is how many new sessions a minute one IPv4 address, or one /64
	// of IPv6, may make; 0: no bound.
	NewPerHost    int
	DefaultRating float64
}

// DefaultOptions returns the options of a profile that sets none.
func DefaultOptions() Options {
	return Options{
		MaxPlayers:    1024,
		Unconfirmed:   time.Minute,
		Away:          5 * time.Minute,
		Expiration:    24 * time.Hour,
		NewPerHost:    60,
		DefaultRating: 1200,
	}
}

// noteEvery is how often it is kept that a session was seen.
const noteEvery = time.Minute

// challengeTTL is how long a challenge can be answered.
const challengeTTL = 30 * time.Second

// tokenAttempts is how many tokens are drawn for one session. The second is
// drawn for a broken source of entropy only.
const tokenAttempts = 16
