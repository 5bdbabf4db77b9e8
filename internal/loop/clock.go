package loop

import (
	"time"

	"wamble/internal/profile"
)

// clock gives the steps of a life their time: the wall clock at its start, and
// the time that has passed since, be the machine awake or suspended. When the
// wall clock is set, only the profile's labels change.
type clock struct {
	start     time.Time     // time of the first step
	began     time.Time     // reading of the monotonic clock at start
	slept     time.Duration // how long the machine was suspended since
	asleep    time.Duration // what suspended said last
	ahead     time.Duration // wall time − time of steps, as the profile was told
	suspended func() time.Duration
	wall      func(now time.Time) time.Time // the wall clock's part of a reading
	told      func() time.Time              // says the time instead of the machine; nil: nobody

	read time.Time // the last reading
	last time.Time // and the time that it gave
}

// setClock is how far wall and monotonic clock may part unnoticed: the two are not
// read at the same moment.
const setClock = 250 * time.Millisecond

// newClock returns a clock that begins now.
func newClock(now time.Time) clock {
	start := now.Round(0).UTC()
	return clock{start: start, began: now, suspended: suspended, wall: wallOf, asleep: suspended(), read: now, last: start}
}

// advance lets a clock that has given no time yet be later, its wall clock too: what
// another machine has labelled before, or this one before its wall clock was set back,
// must not be younger.
func (c *clock) advance(by func() time.Duration) {
	c.start = c.start.Add(by())
	c.last = c.start
	c.follow(by)
}

// follow is advance for the wall clock alone.
func (c *clock) follow(by func() time.Duration) {
	wall := c.wall
	c.wall = func(now time.Time) time.Time { return wall(now).Add(by()) }
}

// toldBy lets a clock that has given no time yet say what somebody tells it.
func (c *clock) toldBy(tell func() time.Time) {
	c.told, c.start = tell, tell().Round(0).UTC()
	c.last = c.start
}

// skew makes a clock that has given no time yet believe a wall clock that is set wrong.
func (c *clock) skew(by func() time.Duration) {
	c.start = c.start.Add(by())
	c.last = c.start
	c.follow(by)
}

func wallOf(now time.Time) time.Time { return now.Round(0) }

// at returns the time of a step that begins now. The input is nil, or what the
// profile must be told because the wall clock was set.
func (c *clock) at(now time.Time) (time.Time, *profile.WallClock) {
	if c.told != nil {
		c.read, c.last = now, c.told().Round(0).UTC()
		return c.last, nil
	}
	at, wall := c.after(now), c.wall(now)
	var told *profile.WallClock
	if parted(wall.Sub(at), c.ahead) {
		// The monotonic clock stands still while the machine is suspended.
		asleep := c.suspended()
		c.slept += max(asleep-c.asleep, 0)
		c.asleep = asleep
		at = c.after(now)
		if ahead := wall.Sub(at); parted(ahead, c.ahead) {
			c.ahead = ahead
			told = &profile.WallClock{Ahead: ahead}
		}
	}
	c.read, c.last = now, at
	return at, told
}

func (c *clock) after(now time.Time) time.Time { return c.start.Add(now.Sub(c.began) + c.slept) }

func parted(a, b time.Duration) bool { return (a - b).Abs() > setClock }

// due is when the monotonic clock says a time of steps; zero stays zero.
func (c *clock) due(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return c.read.Add(at.Sub(c.last))
}

// adopt goes on from the time of an adopted profile.
func (c *clock) adopt(p *profile.Profile) {
	c.start, c.ahead = p.Now()
	c.began, c.slept, c.last = c.read, 0, c.start
}
