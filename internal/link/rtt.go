package link

import "time"

// rtt estimates the round-trip time and its variation. The zero value has no sample.
type rtt struct {
	smooth, vary time.Duration
}

// sample adds the round trip of a packet that was sent exactly once (Karn's rule: an ACK does
// not say which of two copies it acknowledges).
func (r *rtt) sample(d time.Duration) {
	d = max(d, time.Millisecond)
	if r.smooth == 0 {
		r.smooth, r.vary = d, d/2
		return
	}
	diff := r.smooth - d
	if diff < 0 {
		diff = -diff
	}
	r.vary = (3*r.vary + diff) / 4
	r.smooth = (7*r.smooth + d) / 8
}

// backoff is how long to wait for an ACK.
type backoff struct {
	first, floor, ceiling time.Duration
	even                  bool // the wait does not grow with repetitions
}

// after returns the wait after the n-th send (n from 1): first before any sample, then the
// estimate. Unless even is set it grows by half with each repetition.
func (p backoff) after(r *rtt, n int) time.Duration {
	d := p.first
	if r.smooth != 0 {
		d = r.smooth + 4*r.vary
	}
	d = max(d, p.floor)
	for ; n > 1 && d < p.ceiling && !p.even; n-- {
		d += d / 2
	}
	return min(d, p.ceiling)
}
