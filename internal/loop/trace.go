package loop

import (
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/profile"
)

// Trace is the timing of one step and the moves accepted in it: when its packets were read, how long the
// link handled them, when the rules had decided, when the frames were durable, when the answers had left,
// and when the store had it.
type Trace struct {
	Profile  string
	Moves    uint64
	Received time.Time
	Linked   time.Duration
	Decided  time.Time
	Durable  time.Time
	Sent     time.Time
	Stored   time.Time
}

// Tracing configures traces and receives them.
type Tracing struct {
	// Every is the number of moves per traced step; 0 disables traces.
	Every atomic.Int64
	// Done is called with every trace, on any goroutine. It must return quickly.
	Done func(Trace)
}

// tracer traces one step of a profile at a time. While it traces none, it costs the loop one atomic load per
// step.
type tracer struct {
	o         *Tracing
	movesLeft uint64 // moves until the next step is traced; used by the loop
	// linked is the link's total time before the step.
	linked time.Duration

	current atomic.Pointer[tracedStep] // nil if no step is traced
}

// tracedStep is a step that is being traced.
type tracedStep struct {
	durableIndex uint64
	mu           sync.Mutex
	seq          uint64 // of its last message; 0: not known yet
	t            Trace
}

// traceTimeout is when a traced step is given up: its instance has ended, or the store is away.
const traceTimeout = 10 * time.Second

// begin switches the profile's measuring of its link on or off for the step that begins.
func (t *tracer) begin(p *profile.Profile) {
	if p.Clock = nil; t.o != nil && t.o.Every.Load() > 0 {
		p.Clock = time.Now
	}
	t.linked = p.LinkTime()
}

// step traces the step of a durable index, in which moves were accepted, if it is due. It returns nil or the
// function to call with the number of the step's last message.
func (t *tracer) step(name string, now time.Time, linked time.Duration, durableIndex,
	moves uint64) (done func(seq uint64)) {
	if t.o == nil || moves == 0 {
		return nil
	}
	every := t.o.Every.Load()
	if every <= 0 {
		return nil
	}
	if t.movesLeft > moves {
		t.movesLeft -= moves
		return nil
	}
	t.movesLeft = 0
	if f := t.current.Load(); f != nil && now.Sub(f.t.Received) < traceTimeout {
		return nil
	}
	t.movesLeft = uint64(every)
	f := &tracedStep{
		durableIndex: durableIndex,
		t:            Trace{Profile: name, Moves: moves, Received: now, Linked: linked - t.linked, Decided: time.Now()},
	}
	t.current.Store(f)
	return func(seq uint64) {
		f.mu.Lock()
		f.seq = seq
		f.mu.Unlock()
	}
}

// durable records that everything up to a durable index is durable.
func (t *tracer) durable(now time.Time, durableIndex uint64) {
	if f := t.current.Load(); f != nil && f.durableIndex <= durableIndex {
		t.record(f, &f.t.Durable, now)
	}
}

// sent records that the answers of a durable index have left. t may be nil.
func (t *tracer) sent(durableIndex uint64, at time.Time) {
	if t == nil {
		return
	}
	if f := t.current.Load(); f != nil && f.durableIndex == durableIndex {
		t.record(f, &f.t.Sent, at)
	}
}

// applied records that the store has everything up to a message.
func (t *tracer) applied(through uint64) {
	f := t.current.Load()
	if f == nil {
		return
	}
	f.mu.Lock()
	has := f.seq != 0 && f.seq <= through
	f.mu.Unlock()
	if has {
		t.record(f, &f.t.Stored, time.Now())
	}
}

// record sets a moment unless it is set, and passes on the trace if it is complete.
func (t *tracer) record(f *tracedStep, moment *time.Time, at time.Time) {
	f.mu.Lock()
	if moment.IsZero() {
		*moment = at
	}
	whole := !f.t.Durable.IsZero() && !f.t.Sent.IsZero() && !f.t.Stored.IsZero()
	f.mu.Unlock()
	if whole && t.current.CompareAndSwap(f, nil) {
		t.o.Done(f.t)
	}
}
