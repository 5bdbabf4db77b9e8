package runner

import (
	"crypto/rand"
	"fmt"
	"math"
)

// frameList has encoded messages in one buffer, and their destinations.
type frameList struct {
	arena []byte
	list  []frameAt
}

// frameAt is a frame of a list: arena[lo:hi].
type frameAt struct {
	lo, hi int
	to     uint64
	band   band
}

// note adds the frame that was appended to the arena at lo.
func (l *frameList) note(lo int, to uint64, b band) {
	l.list = append(l.list, frameAt{lo, len(l.arena), to, b})
}

func (l *frameList) frame(i int) []byte { return l.arena[l.list[i].lo:l.list[i].hi] }

// reset empties the list and keeps its memory.
func (l *frameList) reset() { l.arena, l.list = l.arena[:0], l.list[:0] }

// Group collects frames that are committed together, without a goroutine or an allocation for
// each. After Submit it must not be used until its callback; Reset makes it empty.
type Group struct {
	frames  frameList
	seqs    []uint64 // numbers of the frames in their inboxes
	durable func(g *Group, err error)
	err     error
}

// NewGroup returns an empty group. durable is called on the committer's goroutine, once for
// each Submit that returned nil: with nil when all frames are durable, otherwise none is
// acknowledged. No commit happens while it runs, so it may send answers but must not wait for
// the runner.
func (r *Runner) NewGroup(durable func(g *Group, err error)) *Group {
	return &Group{durable: durable}
}

// Add encodes m into the group. It allocates only while the group's memory grows.
func (g *Group) Add(m *Message) error {
	if len(m.ID) == 0 {
		m.ID = []byte(rand.Text())
	}
	if m.Queue != "" || m.Unique || !m.At.IsZero() {
		return fmt.Errorf("a group takes messages to numbers, now: %w", ErrInvalid)
	}
	if m.To > math.MaxInt64 {
		return fmt.Errorf("worker %d: %w", m.To, ErrInvalid)
	}
	lo := len(g.frames.arena)
	arena, err := m.Append(g.frames.arena)
	if err != nil {
		return err
	}
	g.frames.arena = arena
	g.frames.note(lo, m.To, m.Flags.band())
	return nil
}

// Len returns the number of frames.
func (g *Group) Len() int { return len(g.frames.list) }

// Bytes returns the number of bytes of all frames.
func (g *Group) Bytes() int { return len(g.frames.arena) }

// Row returns the row of frame i. It is valid from the callback on.
func (g *Group) Row(i int) Row { return Row{g.frames.list[i].to, g.seqs[i]} }

// Reset empties the group and keeps its memory.
func (g *Group) Reset() {
	g.frames.reset()
	g.err = nil
}

func (g *Group) apply(c *commit) {
	if c.noSpace != nil {
		g.err = c.noSpace
		return
	}
	g.seqs = c.postAll(&g.frames, g.seqs[:0])
}

func (g *Group) done(err error) {
	if err == nil {
		err = g.err
	}
	g.durable(g, err)
}

func (g *Group) count() int { return 1 }

// Submit passes g to the committer without blocking. On an error nothing was taken and the
// callback is not called: ErrBusy when more than Options.MaxQueued bytes wait, ErrFailed,
// ErrStopped, ErrTooLarge, ErrDraining.
func (r *Runner) Submit(g *Group) error {
	e := r.engine()
	for i := range g.frames.list {
		if n := len(g.frames.frame(i)); n > e.o.MaxFrame {
			return fmt.Errorf("frame %d of %d bytes, at most %d: %w", i, n, e.o.MaxFrame, ErrTooLarge)
		}
		if err := r.draining.check(g.frames.list[i].to); err != nil {
			return err
		}
	}
	g.err = nil
	return e.k.submit(g, g.Bytes()+64*g.Len(), e.o.MaxQueued)
}
