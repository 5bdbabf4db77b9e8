package runner

import (
	"context"
	"fmt"
)

// band returns the part of an inbox where a message belongs.
func (f Flags) band() band {
	if f&HighPriority != 0 {
		return bandHigh
	}
	return bandNormal
}

// checkFrame is the bound at the entrance: what passes can always be stored,
// delivered and buried. It returns where the frame goes.
func (e *engine) checkFrame(frame []byte) (to uint64, b band, err error) {
	if len(frame) > e.o.MaxFrame {
		return 0, 0, fmt.Errorf("frame of %d bytes, at most %d: %w", len(frame), e.o.MaxFrame, ErrTooLarge)
	}
	h, err := checkMessage(frame)
	if err != nil {
		return 0, 0, err
	}
	if h.to < 0 {
		return 0, 0, fmt.Errorf("worker %d: %w", h.to, ErrInvalid)
	}
	return uint64(h.to), h.flags.band(), nil
}

// posts is one request for all that producers post while it waits for the
// committer. Each waits for the whole, and finds its number by its place.
type posts struct {
	// What those who wait look at is together.
	durable chan struct{}
	err     error
	numbers
	k *committer
	frameList
}

// maxPosts bounds the bytes of one request, because a request is not divided
// between commits.
const maxPosts = 1 << 20

func (p *posts) apply(c *commit) {
	if c.noSpace {
		p.err = ErrNoSpace
		return
	}
	if !c.adopt(&p.frameList, &p.numbers) {
		c.postAll(&p.frameList, &p.numbers)
	}
}

func (p *posts) done(err error) {
	if err != nil {
		p.err = err
	} else {
		p.k.q.recycle(p)
	}
	close(p.durable)
}

func (p *posts) count() int {
	if p.err != nil {
		return 0
	}
	return len(p.list)
}

// post adds a frame to the request that is last in the queue, or makes one.
func (k *committer) post(to uint64, b band, frame []byte, limit int) (p *posts, at int, err error) {
	q := &k.q
	q.lock()
	defer q.mu.Unlock()
	if err := q.admits(limit); err != nil {
		return nil, 0, err
	}
	if p = q.last; p == nil || len(p.arena)+len(frame) > maxPosts {
		p = &posts{durable: make(chan struct{}), k: k}
		if n := len(q.spare); n > 0 {
			p.frameList, q.spare = q.spare[n-1], q.spare[:n-1]
		}
		p.arena = append(p.arena, emptyBundle...)
		q.add(p, 0)
		q.last, q.posted = p, true
	}
	lo := len(p.arena)
	p.arena = append(p.arena, frame...)
	p.note(lo, to, b)
	q.bytes += 64 + len(frame)
	return p, len(p.list) - 1, nil
}

// Post puts m into the inbox of worker m.To and returns its row when it is
// durable. When ctx ends first, it may or may not have been posted.
func (r *Runner) Post(ctx context.Context, m *Message) (Row, error) {
	frame, err := m.Append(nil)
	if err != nil {
		return Row{}, err
	}
	return r.PostFrame(ctx, frame)
}

// PostFrame is Post for a message that is encoded already.
func (r *Runner) PostFrame(ctx context.Context, frame []byte) (Row, error) {
	e := r.engine()
	to, b, err := e.checkFrame(frame)
	if err != nil {
		return Row{}, err
	}
	p, at, err := e.k.post(to, b, frame, e.o.MaxQueued)
	if err != nil {
		return Row{}, err
	}
	if stop := ctx.Done(); stop == nil {
		<-p.durable // a select would cost as much as all the rest
	} else {
		select {
		case <-p.durable:
		case <-stop:
			return Row{}, ctx.Err()
		}
	}
	if p.err != nil {
		return Row{}, p.err
	}
	return Row{to, p.at(at)}, nil
}

// Insert stores a frame at a chosen row, for imports. It returns ErrExists
// when the number is or may have been used. The frame is not checked beyond
// its size, so that whatever another program left can be taken in; what does
// not decode ends in the dead letters when it is delivered.
func (r *Runner) Insert(ctx context.Context, row Row, frame []byte) error {
	if len(frame) == 0 || bundled(frame) > 0 {
		return fmt.Errorf("empty frame, or a bundle: %w", ErrInvalid)
	}
	if len(frame) > r.o.MaxFrame {
		return fmt.Errorf("frame of %d bytes, at most %d: %w", len(frame), r.o.MaxFrame, ErrTooLarge)
	}
	return r.write(ctx, func(c *commit) error { return c.place(row, frame) })
}

// place stores a frame at a chosen row. It is not remembered as recent, so
// nothing that is may stay before it.
func (c *commit) place(row Row, frame []byte) error {
	in := c.e.ix.inbox(row.Worker)
	if row.Seq < in.next || row.Seq+1 == 0 {
		return fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrExists)
	}
	c.seal(in)
	in.recent.drop()
	in.next = row.Seq + 1
	c.insert(in, row.Seq, bandNormal, frame)
	return nil
}

// Group collects frames that are committed together, without a goroutine and
// without an allocation for each. Fill it, Submit it, and leave it alone until
// its callback: then it is yours again, and Reset makes it empty.
type Group struct {
	frames  frameList
	given   numbers
	durable func(g *Group, err error)
	err     error
}

// NewGroup returns an empty group. durable is called on the committer's
// goroutine, once for each Submit that returned nil: with nil when all frames
// are durable, else none is acknowledged. While it runs nothing is committed,
// so it may send answers but must not wait for the runner.
func (r *Runner) NewGroup(durable func(g *Group, err error)) *Group {
	return &Group{durable: durable}
}

// Add encodes m into the group. It allocates only while the group's memory
// still grows.
func (g *Group) Add(m *Message) error {
	if m.To < 0 {
		return fmt.Errorf("worker %d: %w", m.To, ErrInvalid)
	}
	lo := len(g.frames.arena)
	arena, err := m.Append(g.frames.arena)
	if err != nil {
		return err
	}
	g.frames.arena = arena
	g.frames.note(lo, uint64(m.To), m.Flags.band())
	return nil
}

// Len returns the number of frames.
func (g *Group) Len() int { return len(g.frames.list) }

// Bytes returns the number of bytes of all frames.
func (g *Group) Bytes() int { return len(g.frames.arena) }

// Frame returns frame i; it is a view into the group.
func (g *Group) Frame(i int) []byte { return g.frames.frame(i) }

// Row returns the row of frame i. It is known in the callback and after it.
func (g *Group) Row(i int) Row { return Row{g.frames.list[i].to, g.given.at(i)} }

// Reset empties the group and keeps its memory.
func (g *Group) Reset() {
	g.frames.reset()
	g.err = nil
}

func (g *Group) apply(c *commit) {
	if c.noSpace {
		g.err = ErrNoSpace
		return
	}
	c.postAll(&g.frames, &g.given)
}

func (g *Group) done(err error) {
	if err == nil {
		err = g.err
	}
	g.durable(g, err)
}

func (g *Group) count() int { return 1 }

// Submit hands g to the committer and returns at once. On error nothing was
// taken and the callback is not called: ErrBusy when more than
// Options.MaxQueued bytes wait already, ErrFailed, ErrStopped, ErrTooLarge.
func (r *Runner) Submit(g *Group) error {
	e := r.engine()
	for i := range g.frames.list {
		if n := len(g.Frame(i)); n > e.o.MaxFrame {
			return fmt.Errorf("frame %d of %d bytes, at most %d: %w", i, n, e.o.MaxFrame, ErrTooLarge)
		}
	}
	g.err = nil
	return e.k.submit(g, g.Bytes()+64*g.Len(), e.o.MaxQueued)
}
