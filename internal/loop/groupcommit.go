package loop

import (
	"errors"
	"sync"

	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/runner"
)

// groupCommit takes the frames of one life of a profile to the runner. It has one
// group under way and one that is being filled: while the first is made
// durable, the steps of the loop go into the second. So groups grow with the
// load, nothing waits longer than for the disk and for answers that are being
// sent, and after a failure nothing follows: a frame never becomes durable when
// one before it was refused.
type groupCommit struct {
	runner *runner.Runner
	worker uint32
	// durable is told how far the journal has come, and failed why it ends, on
	// the committer's goroutine.
	durable func(progress)
	failed  func(err error)

	mu       sync.Mutex
	open     *group // being filled
	other    *group // under way, or spare
	inFlight bool
	settled  sync.Cond // signalled when the group under way has settled
	held     bool      // nothing is submitted yet
	answers  int       // batches of answers that are being sent
	err      error
	last     uint64    // number of the last message that is durable
	pack     []byte    // frames that become one message
	sizes    Histogram // frames per group
}

// progress is a group that became durable: its gate, the number of its last
// message, and how much it held.
type progress struct {
	gate, seq        uint64
	frames, messages int
}

// group is the frames of some steps in a row, and the gate of the last.
type group struct {
	messages *runner.Group
	frames   int
	gate     uint64
	marks    []mark
}

// mark is who is told the number of the last of some messages of a group.
type mark struct {
	messages int
	told     func(seq uint64)
}

// The bounds of a group that is being filled. Past them the loop reads nothing
// more until the disk has caught up.
const (
	mostFrames = 16 << 10
	mostBytes  = 8 << 20
)

// enoughFrames is how many a group needs to leave while answers are being sent.
// Whoever is answered moves at once: a group that waits for that moment is some
// moves longer, and costs the disk the same.
const enoughFrames = 48

// packSize is how many bytes of frames of one step travel as one message. A
// message costs the journal the same whether it is long or short: without packing
// a burst takes 3 to 9 % more processor time in all. No intent has fewer than 13
// bytes, so that a pack and one more frame stay far below journal.MaxIntents.
const packSize = 16 << 10

// newGroupCommit returns a group commit that holds its frames until begin.
func newGroupCommit(r *runner.Runner, worker uint32) *groupCommit {
	j := &groupCommit{runner: r, worker: worker, held: true, sizes: newHistogram(groupBounds)}
	j.settled.L = &j.mu
	j.open = &group{messages: r.NewGroup(j.settle)}
	j.other = &group{messages: r.NewGroup(j.settle)}
	return j
}

// put adds the frames of one step. After a failure they are dropped. Answering says
// that many answers of the same step are about to be sent; answered says when they
// are.
func (j *groupCommit) put(frames *profile.Frames, gate uint64, answering bool) {
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
		return j.add(frames, gate)
	})
}

// locked does something under the lock, which a panic gives back too, and tells of
// its failure.
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

// answered says that a batch of answers has been sent.
func (j *groupCommit) answered() {
	j.locked(func() error {
		j.answers--
		return j.submit()
	})
}

func (j *groupCommit) add(frames *profile.Frames, gate uint64) error {
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
	if gate != 0 {
		j.open.gate = gate
	}
	return j.submit()
}

// mark tells the number of the last message that was put so far, as soon as that is
// durable. After a failure nobody is told. Told must return quickly.
func (j *groupCommit) mark(told func(seq uint64)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch n := j.open.messages.Len(); {
	case n > 0 || j.inFlight && j.err == nil:
		g := j.open
		if n == 0 {
			g = j.other
		}
		g.marks = append(g.marks, mark{g.messages.Len(), told})
	case j.err == nil:
		told(j.last)
	}
}

// begin submits what was held, and everything from now on.
func (j *groupCommit) begin() {
	j.locked(func() error {
		j.held = false
		return j.submit()
	})
}

// submit sends the open group on its way if none is.
func (j *groupCommit) submit() error {
	if j.held || j.inFlight || j.err != nil || j.open.frames == 0 {
		return nil
	}
	if j.answers > 0 && j.open.frames < enoughFrames {
		return nil // answered does it
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

// settle is called by the committer when the group under way is durable, or
// never will be.
func (j *groupCommit) settle(g *runner.Group, err error) {
	p, err := j.land(g, err)
	if p.seq != 0 {
		j.durable(p)
	}
	if err != nil {
		j.failed(err)
	}
}

// land notes that the group under way is durable, or never will be, and submits the
// next. It returns what became durable, and why nothing follows.
func (j *groupCommit) land(g *runner.Group, err error) (p progress, _ error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.settled.Broadcast()
	j.inFlight = false
	if err != nil {
		j.err = err
		return p, err
	}
	n := g.Len()
	p = progress{gate: j.other.gate, seq: g.Row(n - 1).Seq, frames: j.other.frames, messages: n}
	for _, m := range j.other.marks {
		m.told(g.Row(m.messages - 1).Seq)
	}
	j.last = p.seq
	clear(j.other.marks)
	j.other.marks = j.other.marks[:0]
	g.Reset()
	j.other.gate, j.other.frames = 0, 0
	return p, j.submit()
}

// errEnded is why a journal that was ended takes nothing.
var errEnded = errors.New("the profile has ended")

// end drops what was not submitted and waits for what was: when it returns, all
// that will ever be durable is.
func (j *groupCommit) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = errEnded
	}
	for j.inFlight {
		j.settled.Wait()
	}
}

// behind reports whether so much waits for the disk that the loop should read
// no more.
func (j *groupCommit) behind() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err == nil && (j.open.frames > mostFrames || j.open.messages.Bytes() > mostBytes)
}

// broken reports whether nothing more becomes durable.
func (j *groupCommit) broken() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err != nil
}

// groups returns a copy of the sizes of all groups so far.
func (j *groupCommit) groups() Histogram {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sizes.clone()
}
