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
	idle     sync.Cond // signalled when the group under way has settled
	corked   bool      // nothing is submitted yet
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

// durableCallback calls told with the number of a message of a group, the last of the first messages of them.
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

// newGroupCommit returns a group commit that holds its frames until begin.
func newGroupCommit(r *runner.Runner, worker uint32) *groupCommit {
	j := &groupCommit{runner: r, worker: worker, corked: true, sizes: newHistogram(groupBounds)}
	j.idle.L = &j.mu
	j.open = &group{messages: r.NewGroup(j.committed)}
	j.other = &group{messages: r.NewGroup(j.committed)}
	return j
}

// put adds the frames of one step. After a failure they are dropped. Answering says that many answers of
// this step are about to be sent; the writer calls answered afterwards.
func (j *groupCommit) put(frames *profile.Frames, durableIndex uint64, answering bool) {
	if frames.Len() == 0 && !answering {
		return
	}
	j.locked(func() error {
		if answering {
			j.answers++
		}
		if frames.Len() == 0 {
			return nil
		}
		return j.add(frames, durableIndex)
	})
}

// locked calls do under the lock, which a panic releases too, and reports its error by failed.
func (j *groupCommit) locked(do func() error) {
	err := func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		return do()
	}()
	if err != nil {
		j.failed(err)
	}
}

// answered takes note that a batch of answers has been sent.
func (j *groupCommit) answered() {
	j.locked(func() error {
		j.answers--
		return j.submit()
	})
}

func (j *groupCommit) add(frames *profile.Frames, durableIndex uint64) error {
	if j.err != nil {
		return nil
	}
	for i := range frames.Len() {
		if j.pack = journal.Join(j.pack, frames.At(i)); len(j.pack) < packSize && i < frames.Len()-1 {
			continue
		}
		if err := journal.Add(j.open.messages, j.worker, j.pack); err != nil {
			j.err = err
			return err
		}
		j.pack = j.pack[:0]
	}
	j.open.frames += frames.Len()
	if durableIndex != 0 {
		j.open.durableIndex = durableIndex
	}
	return j.submit()
}

// onDurable calls told with the number of the last message that was put so far, once that is durable. After a
// failure told is never called. Told must return quickly.
func (j *groupCommit) onDurable(done func(seq uint64)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch n := j.open.messages.Len(); {
	case n > 0 || j.inFlight && j.err == nil:
		g := j.open
		if n == 0 {
			g = j.other
		}
		g.callbacks = append(g.callbacks, durableCallback{g.messages.Len(), done})
	case j.err == nil:
		done(j.last)
	}
}

// begin submits what was held, and everything from now on.
func (j *groupCommit) begin() {
	j.locked(func() error {
		j.corked = false
		return j.submit()
	})
}

// submit hands the open group to the runner unless one is under way.
func (j *groupCommit) submit() error {
	if j.corked || j.inFlight || j.err != nil || j.open.frames == 0 {
		return nil
	}
	if j.answers > 0 && j.open.frames < enoughFrames {
		return nil // answered submits it
	}
	if err := j.runner.Submit(j.open.messages); err != nil {
		j.err = err
		return err
	}
	j.sizes.observe(float64(j.open.frames), 1)
	j.inFlight = true
	j.open, j.other = j.other, j.open
	return nil
}

// committed is called by the committer when the group under way is durable or has failed.
func (j *groupCommit) committed(g *runner.Group, err error) {
	p, err := j.complete(g, err)
	if p.seq != 0 {
		j.durable(p)
	}
	if err != nil {
		j.failed(err)
	}
}

// complete takes note that the group under way is durable or has failed, and submits the next. It returns what
// became durable, and the error that ends the journal.
func (j *groupCommit) complete(g *runner.Group, err error) (p progress, _ error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.idle.Broadcast()
	j.inFlight = false
	if err != nil {
		j.err = err
		return p, err
	}
	n := g.Len()
	p = progress{durableIndex: j.other.durableIndex, seq: g.Row(n - 1).Seq, frames: j.other.frames, messages: n}
	for _, m := range j.other.callbacks {
		m.done(g.Row(m.messages - 1).Seq)
	}
	j.last = p.seq
	clear(j.other.callbacks)
	j.other.callbacks = j.other.callbacks[:0]
	g.Reset()
	j.other.durableIndex, j.other.frames = 0, 0
	return p, j.submit()
}

// errEnded is the error of a group commit that was ended.
var errEnded = errors.New("the profile has ended")

// end drops the open group and waits for the one under way: when it returns, nothing more becomes durable.
func (j *groupCommit) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = errEnded
	}
	for j.inFlight {
		j.idle.Wait()
	}
}

// behind reports whether the backlog for the disk is so large that the loop should stop reading.
func (j *groupCommit) behind() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err == nil && (j.open.frames > maxFrames || j.open.messages.Bytes() > maxBytes)
}

// broken reports whether the journal has failed or ended, so that nothing more becomes durable.
func (j *groupCommit) broken() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err != nil
}

// groups returns a copy of the histogram of group sizes.
func (j *groupCommit) groups() Histogram {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sizes.clone()
}
