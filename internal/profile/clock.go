package profile

import (
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
)

// clock is the time of the present step. It begins with the wall clock and then counts elapsed time, so
// that no deadline moves when the wall clock is set. Times in memory are those of this clock. Rows, bans,
// policy and packets have wall times.
type clock struct {
	epoch time.Time
	now   time.Time
	since time.Duration // now − epoch
	ahead time.Duration // wall time − now
	// newest is the latest wall time that a row may have, if the wall clock was set back after it; zero if
	// never.
	newest time.Time
	// furthest is the most that the wall clock has been ahead.
	furthest time.Duration
}

func (c *clock) set(now time.Time) {
	if now = now.Round(0).UTC(); now.After(c.now) {
		c.now = now
	}
	c.since = c.now.Sub(c.epoch)
}

// at returns the time of a duration since epoch.
func (c *clock) at(since time.Duration) time.Time { return c.epoch.Add(since) }

// wall returns the wall time of the present step.
func (c *clock) wall() time.Time { return c.now.Add(c.ahead) }

// label returns the wall time of a time in memory; zero stays zero.
func (c *clock) label(t time.Time) time.Time { return shift(t, c.ahead) }

// latest returns label(t), but no earlier time than label has returned before for t, or for an earlier t: a
// wall clock that was set back may have shown any time up to newest.
func (c *clock) latest(t time.Time) time.Time {
	shown, before := c.label(t), shift(t, c.furthest)
	if before.After(c.newest) {
		before = c.newest
	}
	if before.After(shown) {
		return before
	}
	return shown
}

// adopt continues the clock of another process, which was at now and behind the
// wall clock by ahead. Time does not go back from one process to the next.
func (c *clock) adopt(now time.Time, ahead time.Duration) {
	c.epoch, c.now, c.ahead = c.epoch.Add(-ahead), c.now.Add(-ahead), ahead
	c.set(now)
}

func shift(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// WallClock says how far the wall clock is ahead of the time of steps: zero at the start, more or less once
// it was set. It only changes the wall times that are stored and sent from now on.
type WallClock struct{ Ahead time.Duration }

func (in *WallClock) apply(p *Profile, _ *Output) {
	if in.Ahead < p.clock.ahead {
		p.clock.noteRow(p.clock.wall())
		p.clock.furthest = max(p.clock.furthest, p.clock.ahead)
	}
	p.clock.ahead = in.Ahead
}

// noteRow records the wall time of a row.
func (c *clock) noteRow(wall time.Time) {
	if wall.After(c.newest) {
		c.newest = wall
	}
}

// Now returns the time of the last step, and how far the wall clock is ahead of it.
func (p *Profile) Now() (now time.Time, ahead time.Duration) { return p.clock.now, p.clock.ahead }

// fromStore returns a stored session with its times converted to this clock.
func (c *clock) fromStore(s wamble.Session) *wamble.Session {
	s.Created, s.LastSeen = shift(s.Created, -c.ahead), shift(s.LastSeen, -c.ahead)
	return &s
}

// boardFromStore returns a stored board with its times converted to this clock.
func (c *clock) boardFromStore(b wamble.Board) *wamble.Board {
	if b.Holder != nil {
		c.noteRow(b.Holder.At)
	}
	if c.ahead == 0 {
		return &b
	}
	b.Created, b.LastAssigned = shift(b.Created, -c.ahead), shift(b.LastAssigned, -c.ahead)
	if b.Holder != nil {
		h := *b.Holder
		h.At, h.Expires = shift(h.At, -c.ahead), shift(h.Expires, -c.ahead)
		b.Holder = &h
	}
	b.Moves = append([]wamble.Move(nil), b.Moves...)
	for i := range b.Moves {
		b.Moves[i].At = shift(b.Moves[i].At, -c.ahead)
	}
	return &b
}

// write appends an intent to the frame at the end of dst, with wall times. Of some rows the store keeps the
// one with the later time: if the wall clock was set back, they get the time newest until the wall clock
// has reached it.
func (c *clock) write(dst []byte, in intent.Intent) []byte {
	later := c.ahead
	if c.wall().Before(c.newest) {
		if at := in.Kind().Row().KeptByTime(in); !at.IsZero() {
			later = max(later, c.newest.Sub(at))
		}
	}
	return journal.AppendLater(dst, in, later)
}
