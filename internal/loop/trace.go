package loop

import (
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/profile"
)

// Trace is a step that was followed on its way, with the moves that were accepted in it:
// when its packets were read, for how long the link looked at them, when the rules had
// decided, when the journal had it, when its answers had left, and when the store had it.
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

// Tracing is who wants traces.
type Tracing struct {
	// Every is how many moves there are to a step that is followed; 0: none is.
	Every atomic.Int64
	// Done is told of every trace, on any goroutine. It must return quickly.
	Done func(Trace)
}

// tracer follows one step of a profile at a time. While it follows none, it costs the
// loop a look at an atomic for each step.
type tracer struct {
	o    *Tracing
	left uint64 // moves until a step is followed again; the loop's
	// linked is how long the link of the profile had looked at packets before the step.
	linked time.Duration

	under atomic.Pointer[followed] // nil: none
}

// followed is a step that is followed.
type followed struct {
	gate uint64
	mu   sync.Mutex
	seq  uint64 // of its last message; 0: not known yet
	t    Trace
}

// lost is when a step that is followed is given up: a life has ended, or the store is
// away.
const lost = 10 * time.Second

// begin tells a profile whether to measure its link in the step that begins.
func (t *tracer) begin(p *profile.Profile) {
	if p.Watch = nil; t.o != nil && t.o.Every.Load() > 0 {
		p.Watch = time.Now
	}
	t.linked = p.Linked()
}

// step follows the step of a gate, in which so many moves were accepted, if it is time.
// It returns what is to be told the number of the step's last message, or nil.
func (t *tracer) step(name string, now time.Time, linked time.Duration, gate, moves uint64) (told func(seq uint64)) {
	if t.o == nil || moves == 0 {
		return nil
	}
	every := t.o.Every.Load()
	if every <= 0 {
		return nil
	}
	if t.left > moves {
		t.left -= moves
		return nil
	}
	t.left = 0
	if f := t.under.Load(); f != nil && now.Sub(f.t.Received) < lost {
		return nil
	}
	t.left = uint64(every)
	f := &followed{gate: gate, t: Trace{Profile: name, Moves: moves, Received: now, Linked: linked - t.linked, Decided: time.Now()}}
	t.under.Store(f)
	return func(seq uint64) {
		f.mu.Lock()
		f.seq = seq
		f.mu.Unlock()
	}
}

// durable notes that everything up to a gate is.
func (t *tracer) durable(now time.Time, gate uint64) {
	if f := t.under.Load(); f != nil && f.gate <= gate {
		t.note(f, &f.t.Durable, now)
	}
}

// sent notes that the answers of a gate have left. A stopwatch may have no tracer.
func (t *tracer) sent(gate uint64, at time.Time) {
	if t == nil {
		return
	}
	if f := t.under.Load(); f != nil && f.gate == gate {
		t.note(f, &f.t.Sent, at)
	}
}

// applied notes that the store has everything up to a message.
func (t *tracer) applied(through uint64) {
	f := t.under.Load()
	if f == nil {
		return
	}
	f.mu.Lock()
	has := f.seq != 0 && f.seq <= through
	f.mu.Unlock()
	if has {
		t.note(f, &f.t.Stored, time.Now())
	}
}

// note keeps the first time of a moment, and tells of a trace that is whole.
func (t *tracer) note(f *followed, moment *time.Time, at time.Time) {
	f.mu.Lock()
	if moment.IsZero() {
		*moment = at
	}
	whole := !f.t.Durable.IsZero() && !f.t.Sent.IsZero() && !f.t.Stored.IsZero()
	f.mu.Unlock()
	if whole && t.under.CompareAndSwap(f, nil) {
		t.o.Done(f.t)
	}
}
