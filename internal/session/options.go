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
	NewPerHost int
	// Logins is how often a minute one such address, and one key, may try to log
	// in; 0: no bound.
	Logins        int
	TokenAttempts int // tokens drawn for one session before it is given up
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
		Logins:        30,
		TokenAttempts: 1000,
		DefaultRating: 1200,
	}
}

// noteEvery is how often it is kept that a session was seen.
const noteEvery = time.Minute

// challengeTTL is how long a challenge can be answered.
const challengeTTL = 30 * time.Second
