package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"strings"
)

// band returns the band of a message with these flags.
func (f Flags) band() band {
	if f&HighPriority != 0 {
		return bandHigh
	}
	return bandNormal
}

// posts is one request for all frames that producers post while it waits for the committer.
// Each producer waits for the whole request, and gets the number of its frame by its index.
type posts struct {
	durable chan struct{}
	err     error
	seqs    []uint64 // numbers of the frames in their inboxes
	k       *committer
	frameList
}

// maxPosts bounds the bytes of one request, because a request is not split between commits.
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

// post encodes m, whose frame has size bytes, into the last request of the queue, or into a new
// one.
func (k *committer) post(m *Message, size, limit int) (p *posts, at int, err error) {
	q := &k.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.admits(limit); err != nil {
		return nil, 0, err
	}
	if p = q.last; p == nil || len(p.arena)+size > maxPosts {
		p = &posts{durable: make(chan struct{}), k: k}
		if n := len(q.spare); n > 0 {
			p.frameList, q.spare = q.spare[n-1], q.spare[:n-1]
		}
		q.add(p, 0)
		q.last = p
	}
	lo := len(p.arena)
	p.arena = m.append(p.arena, size)
	p.note(lo, m.To, m.Flags.band())
	q.bytes += 64 + size
	return p, len(p.list) - 1, nil
}

// Post puts m into its queue and returns its row when it is durable. If ctx ends first, m may
// or may not have been posted. Post sets the ID of a message without one, and To of a message
// with Queue. The row of a message with At has no number yet. It returns ErrExists for a Unique
// message whose ID waits or runs, and ErrNotFound for a Queue that nobody has created.
func (r *Runner) Post(ctx context.Context, m *Message) (Row, error) {
	e := r.engine()
	size, err := e.admit(m)
	if err == nil {
		err = r.draining.check(m.To)
	}
	if err != nil {
		return Row{}, err
	}
	if m.Unique || !m.At.IsZero() {
		own := *m // a copy, so that m itself does not escape to the heap
		return r.postOwn(ctx, e, &own)
	}
	p, at, err := e.k.post(m, size, e.o.MaxQueued)
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
	return Row{m.To, p.seqs[at]}, nil
}

// postOwn posts an admitted message that is Unique or has At.
func (r *Runner) postOwn(ctx context.Context, e *engine, m *Message) (Row, error) {
	row := Row{Worker: m.To}
	if !m.At.IsZero() {
		_, err := r.Arm(ctx, m.At, m)
		return row, err
	}
	frame, err := m.Append(nil)
	if err != nil {
		return Row{}, err
	}
	err = e.do(ctx, func(c *commit) error {
		err := cmp.Or(c.refuseQueued(m), c.noSpace)
		if err == nil {
			row.Seq = c.post(m.To, m.Flags.band(), frame)
		}
		return err
	})
	return row, err
}

// admit sets a missing id and the number of m's queue, and returns the length of its frame. An
// admitted message can always be stored, delivered and buried.
func (e *engine) admit(m *Message) (size int, err error) {
	chosen := len(m.ID) > 0
	if !chosen {
		m.ID = []byte(e.ids + rand.Text()[len(e.ids):])
	}
	if m.Queue != "" {
		to, ok := e.named(m.Queue)
		if !ok {
			return 0, fmt.Errorf("queue %q: %w", m.Queue, ErrNotFound)
		}
		m.To = to
	}
	size, err = m.size()
	switch {
	case err != nil:
	case size > e.o.MaxFrame:
		err = fmt.Errorf("frame of %d bytes, at most %d: %w", size, e.o.MaxFrame, ErrTooLarge)
	case m.To > math.MaxInt64:
		err = fmt.Errorf("worker %d: %w", m.To, ErrInvalid)
	case chosen && e.madeUp(m.ID):
		e.ix.mu.Lock()
		if in := e.ix.inboxes[m.To]; in != nil {
			in.repeats = true
		}
		e.ix.mu.Unlock()
	}
	return size, err
}

// madeUp reports whether e has made up an id. One message has it, unless somebody posts again with
// what the first post has put into the Message.
func (e *engine) madeUp(id []byte) bool { return strings.HasPrefix(string(id), e.ids) }

// encode admits m and returns its frame.
func (e *engine) encode(m *Message) ([]byte, error) {
	size, err := e.admit(m)
	if err != nil {
		return nil, err
	}
	return m.append(nil, size), nil
}

var errUnnamed = fmt.Errorf("a unique message needs a queue with a name: %w", ErrInvalid)

// tracks reports whether messages of a queue have a history.
func (e *engine) tracks(queue uint64) bool {
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	in := e.ix.inboxes[queue]
	return in != nil && in.tracked()
}

// refuseQueued returns ErrExists if m is Unique and its id waits or runs.
func (c *commit) refuseQueued(m *Message) error {
	if !m.Unique {
		return nil
	}
	in := c.e.ix.inboxes[m.To]
	if in == nil || !in.tracked() {
		return errUnnamed
	}
	there, err := c.queued(in, m.ID)
	if there {
		err = fmt.Errorf("message %q waits or runs: %w", m.ID, ErrExists)
	}
	return err
}

// insert stores a frame at a chosen row, see package mailbox. It returns ErrExists if the
// number is or may have been used, and ErrTooLarge for 2^63 and above.
func (r *Runner) insert(ctx context.Context, row Row, frame []byte) error {
	if len(frame) == 0 || bundled(frame) > 0 {
		return fmt.Errorf("empty frame, or a bundle: %w", ErrInvalid)
	}
	if len(frame) > r.o.MaxFrame {
		return fmt.Errorf("frame of %d bytes, at most %d: %w", len(frame), r.o.MaxFrame, ErrTooLarge)
	}
	return r.write(ctx, func(c *commit) error { return c.place(row, frame) })
}

// place stores a frame at a chosen row.
func (c *commit) place(row Row, frame []byte) error {
	in := c.e.ix.inbox(row.Worker)
	if row.Seq > maxInsert {
		return fmt.Errorf("row %d of worker %d, at most %d: %w", row.Seq, row.Worker, uint64(maxInsert), ErrTooLarge)
	}
	if row.Seq < in.next {
		return fmt.Errorf("row %d of worker %d: %w", row.Seq, row.Worker, ErrExists)
	}
	c.seal(in)
	in.next = row.Seq + 1
	c.insert(in, row.Seq, bandNormal, frame)
	return nil
}
