package runner

import (
	"math"
	"sync/atomic"
	"time"
)

// clock is the default clock of leases, delays and expiries: the wall clock at
// Open, and the time that has passed since. The wall is read again every second:
// where it went forward (it was set after the start, or the machine slept) the clock
// follows, so that what waits for a stored time does not wait for ever. Where it went
// back the clock goes on, so that nothing stands still and nothing happens twice.
// Timers go by the wall itself.
type clock struct {
	base    time.Time            // the wall at Open, without a monotonic reading
	elapsed func() time.Duration // since Open
	wall    func() time.Time
	ahead   atomic.Int64 // how far the wall was set forward, in ns
	next    atomic.Int64 // when the wall is read again, in ns since Open
}

const (
	wallEvery = time.Second
	// wallStep is the least that is taken for a step of the wall.
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

// wall is what timers go by, in ms.
func (e *engine) wall() int64 { return e.o.Wall().UnixMilli() }

// untilDue returns the time now (ms) at which a timer is due, by the clock that is
// not set back.
func (e *engine) untilDue(due, now int64) int64 {
	wall := e.wall()
	if due <= wall {
		return now
	}
	return later(now, due-wall)
}

// byWall is a time of the clock as the wall will show it: what waits is stored so,
// because the clock of the process that follows begins at the wall. Where the wall was
// set back the clock is ahead of it.
func (c *commit) byWall(at int64) int64 {
	if ahead := c.now - c.e.wall(); ahead >= wallStep.Milliseconds() {
		return max(at, math.MinInt64+ahead) - ahead
	}
	return at
}

// timeOf is the time of stored milliseconds since 1970; 0 stands for none.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// msOf is the reverse of timeOf.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
