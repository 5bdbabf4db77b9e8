package loop

import (
	"time"

	"wamble/internal/profile"
)

// clock gives the steps of an instance their time: the wall clock at its start, plus the time that has passed
// since, whether the machine was awake or suspended. When the wall clock is set, only the profile's labels
// change.
type clock struct {
	start     time.Time     // time of the first step
	began     time.Time     // reading of the monotonic clock at start
	slept     time.Duration // how long the machine was suspended since start
	asleep    time.Duration // the last result of suspended
	ahead     time.Duration // wall time − time of steps, as the profile knows it
	suspended func() time.Duration
	wall      func(now time.Time) time.Time // the wall clock's part of a reading
	override  func() time.Time              // replaces the machine's clocks; nil in production

	read time.Time // the last reading
	last time.Time // the time that it gave
}

// clockSetThreshold is the difference between wall and monotonic clock that is ignored: the two are not read at the
// same moment.
const clockSetThreshold = 250 * time.Millisecond

// newClock returns a clock that begins now.
func newClock(now time.Time) clock {
	start := now.Round(0).UTC()
	return clock{
		start: start, began: now, suspended: suspended, wall: wallOf, asleep: suspended(), read: now, last: start,
	}
}

// advance moves a clock that has given no time yet forward, its wall clock too: labels that another machine
// gave, or that this one gave before its wall clock was set back, must not lie in the future.
func (c *clock) advance(by func() time.Duration) {
	c.start = c.start.Add(by())
	c.last = c.start
	c.advanceWall(by)
}

// advanceWall moves the wall clock alone forward.
func (c *clock) advanceWall(by func() time.Duration) {
	wall := c.wall
	c.wall = func(now time.Time) time.Time { return wall(now).Add(by()) }
}

// overrideWith makes now the source of the time. The clock must not have given a time yet.
func (c *clock) overrideWith(now func() time.Time) {
	c.override, c.start = now, now().Round(0).UTC()
	c.last = c.start
}

func wallOf(now time.Time) time.Time { return now.Round(0) }

// at returns the time of a step that begins now. The input is nil unless the wall clock was set; then the
// profile must be given it.
func (c *clock) at(now time.Time) (time.Time, *profile.WallClock) {
	if c.override != nil {
		c.read, c.last = now, c.override().Round(0).UTC()
		return c.last, nil
	}
	at, wall := c.after(now), c.wall(now)
	var set *profile.WallClock
	if diverged(wall.Sub(at), c.ahead) {
		// The monotonic clock stands still while the machine is suspended.
		asleep := c.suspended()
		c.slept += max(asleep-c.asleep, 0)
		c.asleep = asleep
		at = c.after(now)
		if ahead := wall.Sub(at); diverged(ahead, c.ahead) {
			c.ahead = ahead
			set = &profile.WallClock{Ahead: ahead}
		}
	}
	c.read, c.last = now, at
	return at, set
}

func (c *clock) after(now time.Time) time.Time { return c.start.Add(now.Sub(c.began) + c.slept) }

func diverged(a, b time.Duration) bool { return (a - b).Abs() > clockSetThreshold }

// due converts a time of steps to the monotonic clock; zero stays zero.
func (c *clock) due(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return c.read.Add(at.Sub(c.last))
}

// adopt continues from the time of an adopted profile.
func (c *clock) adopt(p *profile.Profile) {
	c.start, c.ahead = p.Now()
	c.began, c.slept, c.last = c.read, 0, c.start
}
