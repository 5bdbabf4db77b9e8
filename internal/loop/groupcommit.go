package loop

import (
	"errors"
	"sync"

	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/runner"
)

// groupCommit hands the frames of one instance of a profile to the runner. One group is under way while the
// next is filled by the steps of the loop, so groups grow with the load. A group waits only for the disk
// and for answers that are being sent. A frame never becomes durable after one before it was refused.
type groupCommit struct {
	runner *runner.Runner
	worker uint32
	// durable is called with the progress of the journal, failed with the error that ends it, both on the
	// committer's goroutine.
	durable func(progress)
	failed  func(err error)

	mu       sync.Mutex
	open     *group // being filled
	other    *group // under way, or spare
	inFlight bool
	idle     sync.Cond // signalled when no group is under way any more
	begun    bool      // frames are submitted
	answers  int       // batches of answers that the writer is sending
	err      error
	last     uint64    // number of the last message that is durable
	pack     []byte    // frames that become one message
	sizes    Histogram // frames per group
}

// progress is a group that became durable: its durable index, the number of its last message, and its size.
type progress struct {
	durableIndex, seq uint64
	frames, messages  int
}

// group holds the frames of consecutive steps, and the durable index of the last step.
type group struct {
	messages     *runner.Group
	frames       int
	durableIndex uint64
	callbacks    []durableCallback
}

// durableCallback calls done with the number of the last of the first messages of a group.
type durableCallback struct {
	messages int
	done     func(seq uint64)
}

// The bounds of the group that is being filled. Past them the loop reads no packets until the disk has
// caught up.
const (
	maxFrames = 16 << 10
	maxBytes  = 8 << 20
)

// enoughFrames is how many frames a group needs to be submitted while answers are being sent. Answered
// players move at once, so a group that waits for the answers gets some more moves and costs the disk the
// same.
const enoughFrames = 48

// packSize is how many bytes of frames of one step share one message. A message costs the journal about the
// same at any length: without packing a burst takes 3 to 9 % more processor time in all. An intent has at
// least 13 bytes, so a pack and one more frame stay far below journal.MaxIntents.
const packSize = 16 << 10

// newGroupCommit returns a group commit that submits no frames before begin.
func newGroupCommit(r *runner.Runner, worker uint32) *groupCommit {
	c := &groupCommit{runner: r, worker: worker, sizes: newHistogram(groupBounds)}
	c.idle.L = &c.mu
	c.open = &group{messages: r.NewGroup(c.committed)}
	c.other = &group{messages: r.NewGroup(c.committed)}
	return c
}

// put adds the frames of one step. After a failure they are dropped. Answering says that many answers of
// this step are about to be sent; the writer calls answered afterwards.
func (c *groupCommit) put(frames *profile.Frames, durableIndex uint64, answering bool) {
	if frames.Len() == 0 && !answering {
		return
	}
	c.locked(func() error {
		if answering {
			c.answers++
		}
		if frames.Len() == 0 {
			return nil
		}
		return c.add(frames, durableIndex)
	})
}

// locked calls do under the lock, which a panic releases too, and reports its error by failed.
func (c *groupCommit) locked(do func() error) {
	err := func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return do()
	}()
	if err != nil {
		c.failed(err)
	}
}

// answered records that a batch of answers has been sent.
func (c *groupCommit) answered() {
	c.locked(func() error {
		c.answers--
		return c.submit()
	})
}

func (c *groupCommit) add(frames *profile.Frames, durableIndex uint64) error {
	if c.err != nil {
		return nil
	}
	for i := range frames.Len() {
		if c.pack = journal.Join(c.pack, frames.At(i)); len(c.pack) < packSize && i < frames.Len()-1 {
			continue
		}
		if err := journal.Add(c.open.messages, c.worker, c.pack); err != nil {
			c.err = err
			return err
		}
		c.pack = c.pack[:0]
	}
	c.open.frames += frames.Len()
	if durableIndex != 0 {
		c.open.durableIndex = durableIndex
	}
	return c.submit()
}

// onDurable calls done with the number of the last message that was put so far, once that is durable. After a
// failure done is never called. Done must return quickly.
func (c *groupCommit) onDurable(done func(seq uint64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := c.open.messages.Len(); {
	case n > 0 || c.inFlight && c.err == nil:
		g := c.open
		if n == 0 {
			g = c.other
		}
		g.callbacks = append(g.callbacks, durableCallback{g.messages.Len(), done})
	case c.err == nil:
		done(c.last)
	}
}

// begin submits the frames that were put so far, and all later ones.
func (c *groupCommit) begin() {
	c.locked(func() error {
		c.begun = true
		return c.submit()
	})
}

// submit hands the open group to the runner unless one is under way.
func (c *groupCommit) submit() error {
	if !c.begun || c.inFlight || c.err != nil || c.open.frames == 0 {
		return nil
	}
	if c.answers > 0 && c.open.frames < enoughFrames {
		return nil // answered submits it
	}
	if err := c.runner.Submit(c.open.messages); err != nil {
		c.err = err
		return err
	}
	c.sizes.observe(float64(c.open.frames), 1)
	c.inFlight = true
	c.open, c.other = c.other, c.open
	return nil
}

// committed is called by the committer when the group under way is durable or has failed.
func (c *groupCommit) committed(g *runner.Group, err error) {
	p, err := c.complete(g, err)
	if p.seq != 0 {
		c.durable(p)
	}
	if err != nil {
		c.failed(err)
	}
}

// complete records that the group under way is durable or has failed, and submits the next. It returns what
// became durable, and the error that ends the journal.
func (c *groupCommit) complete(g *runner.Group, err error) (p progress, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.idle.Broadcast()
	c.inFlight = false
	if err != nil {
		c.err = err
		return p, err
	}
	n := g.Len()
	p = progress{durableIndex: c.other.durableIndex, seq: g.Row(n - 1).Seq, frames: c.other.frames, messages: n}
	for _, m := range c.other.callbacks {
		m.done(g.Row(m.messages - 1).Seq)
	}
	c.last = p.seq
	clear(c.other.callbacks)
	c.other.callbacks = c.other.callbacks[:0]
	g.Reset()
	c.other.durableIndex, c.other.frames = 0, 0
	return p, c.submit()
}

// errEnded is the error of a group commit that was ended.
var errEnded = errors.New("the profile has ended")

// end drops the open group and waits for the one under way: when it returns, nothing more becomes durable.
func (c *groupCommit) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = errEnded
	}
	for c.inFlight {
		c.idle.Wait()
	}
}

// behind reports whether the backlog for the disk is so large that the loop should stop reading.
func (c *groupCommit) behind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && (c.open.frames > maxFrames || c.open.messages.Bytes() > maxBytes)
}

// broken reports whether the journal has failed or ended, so that nothing more becomes durable.
func (c *groupCommit) broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// groups returns a copy of the histogram of group sizes.
func (c *groupCommit) groups() Histogram {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sizes.clone()
}
