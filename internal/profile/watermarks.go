package profile

import (
	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/pack"
	"wamble/internal/session"
)

// watermarks is how far journal and store have come.
type watermarks struct {
	newest  uint64 // the newest durable index
	durable uint64 // packets up to this durable index may leave
	applied uint64 // message of the journal up to which the store has everything
	stored  uint64 // durable index up to which the store has everything
	// resumed is the durable index of everything decided before the start: until stored has reached it, the store
	// lacks some of that.
	resumed uint64
	// pending are the durable indexes that are durable and of which the store lacks something, oldest first, each
	// with its last message.
	pending []pendingIndex
	first   int
}

type pendingIndex struct{ index, seq uint64 }

// maxPending bounds pending during an outage of the store.
const maxPending = 1 << 16

// setDurable records that a durable index is durable, and that seq is its last message.
func (w *watermarks) setDurable(durableIndex, seq uint64) {
	if durableIndex <= w.durable || durableIndex > w.newest {
		return
	}
	w.durable = durableIndex
	if w.first == len(w.pending) {
		w.pending, w.first = w.pending[:0], 0
	}
	if len(w.pending) == maxPending {
		w.thin()
	}
	w.pending = append(w.pending, pendingIndex{durableIndex, seq})
	w.advanceStored()
}

// setApplied records how far the store has come.
func (w *watermarks) setApplied(seq uint64) {
	w.applied = max(w.applied, seq)
	w.advanceStored()
}

func (w *watermarks) advanceStored() {
	for w.first < len(w.pending) && w.pending[w.first].seq <= w.applied {
		w.stored = w.pending[w.first].index
		w.first++
	}
}

// thin drops every second pending durable index: what a dropped one covers counts as stored with the next one, a
// little later.
func (w *watermarks) thin() {
	live := w.pending[w.first:]
	retained := w.pending[:0]
	for i := range live {
		if i%2 == 1 || i == len(live)-1 {
			retained = append(retained, live[i])
		}
	}
	w.pending, w.first = retained, 0
}

// Durable says that all frames up to those of Index are durable. Indexes come in ascending order.
type Durable struct {
	Index uint64
	Seq   uint64 // number of the last frame in the journal
}

func (in *Durable) apply(p *Profile, _ *Output) {
	p.watermarks.setDurable(in.Index, in.Seq)
	p.onStored()
}

func (in *Durable) pack(w *pack.Writer) {
	w.Uint(in.Index)
	w.Uint(in.Seq)
}

func (in *Durable) unpack(r *pack.Reader) { in.Index, in.Seq = r.Uint(), r.Uint() }

// Applied says that the store has everything up to message Seq of the journal.
type Applied struct{ Seq uint64 }

func (in *Applied) apply(p *Profile, _ *Output) {
	p.watermarks.setApplied(in.Seq)
	p.onStored()
}

// onStored evicts the sessions that waited for the store.
func (p *Profile) onStored() {
	p.stats.Evicted += uint64(p.sessions.Applied(p.watermarks.stored))
	if p.watermarks.stored >= p.watermarks.resumed {
		p.unstored = unstored{}
	}
}

func (in *Applied) pack(w *pack.Writer) { w.Uint(in.Seq) }

func (in *Applied) unpack(r *pack.Reader) { in.Seq = r.Uint() }

// frame is the frame that is being written, directly into the output.
type frame struct {
	clock  *clock
	frames *Frames
	start  int
	n      int // intents in the frame; 0: no frame is open
	// parts counts the frames that were closed since the last seal because they
	// were full.
	parts int
	// stale is the events of the intents since the step began, begun how many of them are not of this frame.
	stale []StoreEvent
	begun int
}

// maxFrame bounds the intents of one frame. Requests make fewer; Profile.runTimers can reach it.
const maxFrame = journal.MaxIntents / 4

// Add writes an intent.
func (f *frame) Add(in intent.Intent) {
	if f.n == maxFrame {
		f.close()
		f.parts++
	}
	if f.n == 0 {
		f.start, f.begun = len(f.frames.bytes), len(f.stale)
		f.frames.bytes = journal.Begin(f.frames.bytes)
	}
	f.frames.bytes = f.clock.write(f.frames.bytes, in)
	f.n++
	if c, ok := staleBy(in); ok {
		f.stale = append(f.stale, c)
	}
}

func (f *frame) close() {
	f.frames.ends = append(f.frames.ends, len(f.frames.bytes))
	f.n = 0
}

// discard drops the open frame.
func (f *frame) discard() {
	if f.n > 0 {
		f.frames.bytes, f.stale = f.frames.bytes[:f.start], f.stale[:f.begun]
		f.n = 0
	}
}

// seal ends the open frame, and reports whether there was one. From then on everything is finished under
// this step's durable index.
func (d *decisions) seal(out *Output) bool {
	wrote := d.frame.n > 0 || d.frame.parts > 0
	if d.frame.n > 0 {
		d.frame.close()
	}
	d.frame.parts = 0
	if wrote && out.DurableIndex == 0 {
		d.watermarks.newest++
		out.DurableIndex = d.watermarks.newest
	}
	return wrote
}

// sealFor is seal for decisions about one session. The session stays in memory until the store has the
// frame.
func (p *Profile) sealFor(s *session.Session, out *Output) {
	if p.seal(out) && s != nil {
		p.sessions.Wrote(s, p.watermarks.newest)
	}
}

// sealForKey is sealFor for decisions about all sessions of a key: what the store said of one before it has the
// frame is old.
func (p *Profile) sealForKey(key wamble.PublicKey, out *Output) {
	p.seal(out)
	for _, s := range p.sessions.Of(key) {
		p.sessions.Wrote(s, p.watermarks.newest)
	}
}
