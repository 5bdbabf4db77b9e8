package wamble

import "time"

// Seconds is a duration that is encoded in seconds in JSON.
type Seconds float64

// InSeconds returns d in seconds.
func InSeconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Duration returns s as a time.Duration, rounded to milliseconds.
func (s Seconds) Duration() time.Duration {
	return time.Duration(float64(s) * float64(time.Second)).Round(time.Millisecond)
}
