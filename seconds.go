package wamble

import "time"

// Seconds is a duration, in seconds when it is JSON.
type Seconds float64

// InSeconds returns d in seconds.
func InSeconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Duration returns the seconds in Go's form, to the millisecond.
func (s Seconds) Duration() time.Duration {
	return time.Duration(float64(s) * float64(time.Second)).Round(time.Millisecond)
}
