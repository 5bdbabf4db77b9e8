// Package tokenbucket is a token bucket of eight bytes, so that each peer can have several. It has no clock and no
// lock, and does not allocate. A rate.Limiter of golang.org/x/time has 80 bytes.
package tokenbucket

import "time"

// Limit is how many tokens return evenly within Per, and how many a full bucket has.
type Limit struct {
	Rate  int
	Per   time.Duration
	Burst int
}

// Bucket is the time at which the bucket is full again. The zero value is a full bucket. While the clock is behind an
// earlier time no tokens return.
type Bucket time.Duration

// Has reports whether the bucket has n tokens.
func (b Bucket) Has(now time.Duration, n int, l Limit) bool {
	return max(time.Duration(b), now)+l.time(n) <= now+l.time(l.Burst)
}

// Take takes n tokens if the bucket has them, and reports whether it has.
func (b *Bucket) Take(now time.Duration, n int, l Limit) bool {
	if !b.Has(now, n, l) {
		return false
	}
	b.Spend(now, n, l)
	return true
}

// Spend takes n tokens, also those that the bucket does not have: it owes them, but never more than the burst.
func (b *Bucket) Spend(now time.Duration, n int, l Limit) {
	*b = Bucket(min(max(time.Duration(*b), now)+l.time(n), now+2*l.time(l.Burst)))
}

// Used returns the bucket as a number of tokens and a time at which they were taken from the full bucket.
func (b Bucket) Used(now time.Duration, l Limit) (n int, at time.Duration) {
	missing := max(time.Duration(b)-now, 0)
	n = int((missing*time.Duration(l.Rate) + l.Per - 1) / l.Per)
	return n, time.Duration(b) - l.time(n)
}

// Full returns a bucket that was full at a time, and from which n tokens were taken then.
func Full(at time.Duration, n int, l Limit) Bucket { return Bucket(at + l.time(n)) }

// time returns the time in which n tokens return.
func (l Limit) time(n int) time.Duration { return time.Duration(n) * l.Per / time.Duration(l.Rate) }
