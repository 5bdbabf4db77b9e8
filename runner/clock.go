package runner

import (
	"math"
	"sync/atomic"
	"time"
)

// clock is the default clock of leases, delays and expiries: the wall clock at Open plus the
// time that has passed since. The wall clock is read again every second: if it went forward (it
// was set after the start, or the machine slept), the clock follows, so that what waits for a
// stored time does not wait forever. If it went back, the clock continues, so that nothing
// stops and nothing happens twice. Timers use the wall clock itself. The age of completed ids is
// counted without the steps: a wall clock that is wrong for a moment does not make a message run
// twice. What passes while no runner is open is known from the wall clock only.
type clock struct {
	base    time.Time            // wall clock at Open, without a monotonic reading
	elapsed func() time.Duration // since Open
	wall    func() time.Time
	ahead   atomic.Int64 // how far the wall clock was set forward, in ns
	next    atomic.Int64 // when the wall clock is read again, in ns since Open
}

const (
	wallEvery = time.Second
	// wallStep is the smallest difference that counts as a step of the wall clock.
	wallStep = 100 * time.Millisecond
)

func newClock(wall func() time.Time) *clock {
	if wall == nil {
		wall = readWall
	}
	base, start := wall().Round(0), time.Now()
	c := &clock{base: base, elapsed: func() time.Duration { return time.Since(start) }, wall: wall}
	c.next.Store(int64(wallEvery))
	return c
}

func readWall() time.Time { return time.Now().Round(0) }

func (c *clock) now() time.Time {
	d := c.elapsed()
	if next := c.next.Load(); int64(d) >= next && c.next.CompareAndSwap(next, int64(d+wallEvery)) {
		if step := c.wall().Sub(c.at(d)); step >= wallStep {
			c.ahead.Add(int64(step))
		}
	}
	return c.at(d)
}

func (c *clock) at(d time.Duration) time.Time { return c.base.Add(d + time.Duration(c.ahead.Load())) }

// steady returns the time without the steps of the wall clock since Open.
func (c *clock) steady() time.Time { return c.base.Add(c.elapsed()) }

// steady returns the time for the age of completed ids, in ms.
func (e *engine) steady() int64 { return e.o.steady().UnixMilli() }

// wall returns the time for timers, in ms.
func (e *engine) wall() int64 { return e.o.Wall().UnixMilli() }

// untilDue converts the due time of a timer to the monotonic clock, whose time is now (ms).
func (e *engine) untilDue(due, now int64) int64 {
	wall := e.wall()
	if due <= wall {
		return now
	}
	return later(now, due-wall)
}

// byWall converts a time of the clock to the wall clock. Waiting times are stored in that form,
// because the clock of the next process begins at the wall clock. If the wall clock was set
// back, the clock is ahead of it.
func (c *commit) byWall(at int64) int64 {
	if ahead := c.now - c.e.wall(); ahead >= wallStep.Milliseconds() {
		return max(at, math.MinInt64+ahead) - ahead
	}
	return at
}

// timeOf returns the time of stored milliseconds since 1970; 0 is the zero time.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// msOf is the inverse of timeOf.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
