package runnertest

import (
	"context"
	"sync"
	"time"
)

// Clock is a clock that moves only by calls. A sleep on it moves it, and is recorded.
type Clock struct {
	mu    sync.Mutex
	ms    int64
	extra time.Duration
	slept []time.Duration
	// OnSleep, if set, is called at every sleep, before the clock moves.
	OnSleep func(d time.Duration)
}

// NewClock returns a clock that shows ms milliseconds since 1970.
func NewClock(ms int64) *Clock { return &Clock{ms: ms} }

// Now is a runner.Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.ms).Add(c.extra)
}

// Set sets the clock to ms milliseconds since 1970.
func (c *Clock) Set(ms int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms, c.extra = ms, 0
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extra += d
}

// Sleep is a runner.Options.Sleep.
func (c *Clock) Sleep(_ context.Context, _ <-chan struct{}, d time.Duration) {
	if c.OnSleep != nil {
		c.OnSleep(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extra += d
	c.slept = append(c.slept, d)
}

// Slept returns the sleeps so far.
func (c *Clock) Slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.slept...)
}
