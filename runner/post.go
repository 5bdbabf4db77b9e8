package runner

import (
	"context"
	"crypto/rand"
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

// posts is one request for all frames that producers post while it waits for the
// committer. Each producer waits for the whole request, and finds the number of
// its frame by the place in it.
type posts struct {
	durable chan struct{}
	err     error
	seqs    []uint64 // the numbers of the frames in their inboxes
	k       *committer
	frameList
}

// maxPosts bounds the bytes of one request, because a request is not divided
// between commits.
const maxPosts = 1 << 20

func (p *posts) apply(c *commit) {
	if c.noSpace != nil {
		p.err = c.noSpace
		return
	}
	p.seqs = c.postAll(&p.frameList, make([]uint64, 0, len(p.list)))
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
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.admits(limit); err != nil {
		return nil, 0, err
	}
	if p = q.last; p == nil || len(p.arena)+len(frame) > maxPosts {
		p = &posts{durable: make(chan struct{}), k: k}
		if n := len(q.spare); n > 0 {
			p.frameList, q.spare = q.spare[n-1], q.spare[:n-1]
		}
		q.add(p, 0)
		q.last = p
	}
	lo := len(p.arena)
	p.arena = append(p.arena, frame...)
	p.note(lo, to, b)
	q.bytes += 64 + len(frame)
	return p, len(p.list) - 1, nil
}

// Post puts m into its queue and returns its row when it is durable. When ctx ends
// first, it may or may not have been posted. A message without ID is given one, and
// one with Queue the number of its queue in To. The row of one that has its time to
// wait for has no number yet. ErrExists is the answer for a Unique one whose ID
// waits or runs.
func (r *Runner) Post(ctx context.Context, m *Message) (Row, error) {
	e := r.engine()
	frame, err := e.encode(ctx, m)
	if err == nil {
		err = r.draining.check(m.To)
	}
	switch {
	case err != nil:
		return Row{}, err
	case !m.At.IsZero():
		_, err := r.Arm(ctx, m.At, m)
		return Row{Worker: m.To}, err
	case !m.Unique:
		return e.postFrame(ctx, m.To, m.Flags.band(), frame)
	}
	row := Row{Worker: m.To}
	err = e.write(ctx, func(c *commit) error {
		err := c.refuseQueued(m)
		if err == nil {
			row.Seq = c.post(m.To, m.Flags.band(), frame)
		}
		return err
	})
	return row, err
}

// encode gives m an id and the number of its queue, where it lacks one, and makes
// its frame.
func (e *engine) encode(ctx context.Context, m *Message) ([]byte, error) {
	if len(m.ID) == 0 {
		m.ID = []byte(rand.Text())
	}
	if m.Queue != "" {
		n, err := e.queue(ctx, m.Queue)
		if err != nil {
			return nil, err
		}
		m.To = n
	}
	frame, err := m.Append(nil)
	if err == nil {
		_, _, err = e.checkFrame(frame)
	}
	return frame, err
}

// refuseQueued returns ErrExists if m is Unique and its id waits or runs.
func (c *commit) refuseQueued(m *Message) error {
	if !m.Unique {
		return nil
	}
	if in := c.e.ix.inboxes[m.To]; in == nil || !in.tracked() {
		return fmt.Errorf("a unique message needs a queue with a name: %w", ErrInvalid)
	}
	there, err := c.queued(m.To, m.ID)
	if there {
		err = fmt.Errorf("message %q waits or runs: %w", m.ID, ErrExists)
	}
	return err
}

// postFrame posts a frame that was checked.
func (e *engine) postFrame(ctx context.Context, to uint64, b band, frame []byte) (Row, error) {
	p, at, err := e.k.post(to, b, frame, e.o.MaxQueued)
	if err != nil {
		return Row{}, err
	}
	if stop := ctx.Done(); stop == nil {
		<-p.durable // cheaper than a select
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
	return Row{to, p.seqs[at]}, nil
}

// insert stores bytes at a chosen row: see package mailbox. It returns ErrExists when
// the number is or may have been used, and ErrTooLarge for one of 2^63 and more.
func (r *Runner) insert(ctx context.Context, row Row, frame []byte) error {
	if len(frame) == 0 || bundled(frame) > 0 {
		return fmt.Errorf("empty frame, or a bundle: %w", ErrInvalid)
	}
	if len(frame) > r.o.MaxFrame {
		return fmt.Errorf("frame of %d bytes, at most %d: %w", len(frame), r.o.MaxFrame, ErrTooLarge)
	}
	return r.write(ctx, func(c *commit) error { return c.place(row, frame) })
}

// place stores a frame at a chosen row. The row is not in the cache of recent
// rows, which has no gaps, so the cache is dropped.
func (c *commit) place(row Row, frame []byte) error {
	in := c.e.ix.inbox(row.Worker)
	if row.Seq > maxInsert {
		return fmt.Errorf("row %d of worker %d, at most %d: %w", row.Seq, row.Worker, uint64(maxInsert), ErrTooLarge)
	}
	if row.Seq < in.next {
		return fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrExists)
	}
	c.seal(in)
	in.recent.drop()
	in.next = row.Seq + 1
	c.insert(in, row.Seq, bandNormal, frame)
	return nil
}
