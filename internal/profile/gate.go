package profile

import (
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/pack"
	"wamble/internal/session"
)

// gates is how far journal and store have come.
type gates struct {
	last    uint64 // the newest gate
	durable uint64 // packets up to this gate may leave
	applied uint64 // message of the journal up to which the store has everything
	settled uint64 // gate up to which the store has everything
	// pending are the gates that are durable and not settled, oldest first, each with the message that
	// settles it.
	pending []settling
	first   int
}

type settling struct{ gate, seq uint64 }

// maxPending bounds pending during an outage of the store.
const maxPending = 1 << 16

// reach records that a gate is durable, and that seq is its last message.
func (g *gates) reach(gate, seq uint64) {
	if gate <= g.durable || gate > g.last {
		return
	}
	g.durable = gate
	if g.first == len(g.pending) {
		g.pending, g.first = g.pending[:0], 0
	}
	if len(g.pending) == maxPending {
		g.thin()
	}
	g.pending = append(g.pending, settling{gate, seq})
	g.settle()
}

// apply records how far the store has come.
func (g *gates) apply(seq uint64) {
	g.applied = max(g.applied, seq)
	g.settle()
}

func (g *gates) settle() {
	for g.first < len(g.pending) && g.pending[g.first].seq <= g.applied {
		g.settled = g.pending[g.first].gate
		g.first++
	}
}

// thin drops every second pending gate: what a dropped gate covers is settled with the next one, a little
// later.
func (g *gates) thin() {
	live := g.pending[g.first:]
	kept := g.pending[:0]
	for i := range live {
		if i%2 == 1 || i == len(live)-1 {
			kept = append(kept, live[i])
		}
	}
	g.pending, g.first = kept, 0
}

// Durable says that all frames up to those of Gate are durable. Gates come in ascending order.
type Durable struct {
	Gate uint64
	Seq  uint64 // number of the last frame in the journal
}

func (in *Durable) take(p *Profile, out *Output) {
	p.gates.reach(in.Gate, in.Seq)
	p.settled()
	p.askAgain(out)
}

func (in *Durable) pack(w *pack.Writer) {
	w.Uint(in.Gate)
	w.Uint(in.Seq)
}

func (in *Durable) unpack(r *pack.Reader) { in.Gate, in.Seq = r.Uint(), r.Uint() }

// Applied says that the store has everything up to message Seq of the journal.
type Applied struct{ Seq uint64 }

func (in *Applied) take(p *Profile, out *Output) {
	p.gates.apply(in.Seq)
	p.settled()
	p.askAgain(out)
}

// settled evicts the sessions that waited for the store.
func (p *Profile) settled() {
	p.stats.Evicted += uint64(p.sessions.Applied(p.gates.settled))
	if p.gates.settled >= resumeGate {
		p.behind = behind{}
	}
}

func (in *Applied) pack(w *pack.Writer) { w.Uint(in.Seq) }

func (in *Applied) unpack(r *pack.Reader) { in.Seq = r.Uint() }

// draft is the frame that is being written, directly into the output.
type draft struct {
	clock  *clock
	frames *Frames
	start  int
	n      int // intents in the frame; 0: no frame is open
	// parts counts the frames that were closed since the last seal because they
	// were full.
	parts int
}

// maxFrame bounds the intents of one frame. Requests make fewer; Profile.pass can reach it.
const maxFrame = journal.MaxIntents / 4

// Add writes an intent.
func (d *draft) Add(in intent.Intent) {
	if d.n == maxFrame {
		d.close()
		d.parts++
	}
	if d.n == 0 {
		d.start = len(d.frames.bytes)
		d.frames.bytes = journal.Begin(d.frames.bytes)
	}
	d.frames.bytes = d.clock.write(d.frames.bytes, in)
	d.n++
}

func (d *draft) close() {
	d.frames.ends = append(d.frames.ends, len(d.frames.bytes))
	d.n = 0
}

// discard drops the open frame.
func (d *draft) discard() {
	if d.n > 0 {
		d.frames.bytes = d.frames.bytes[:d.start]
		d.n = 0
	}
}

// seal ends the open frame, and reports whether there was one. From then on everything is finished under
// this step's gate.
func (p *Profile) seal(out *Output) bool {
	wrote := p.draft.n > 0 || p.draft.parts > 0
	if p.draft.n > 0 {
		p.draft.close()
	}
	p.draft.parts = 0
	if wrote && out.Gate == 0 {
		p.gates.last++
		out.Gate = p.gates.last
	}
	return wrote
}

// sealFor is seal for decisions about one session. The session stays in memory until the store has the
// frame.
func (p *Profile) sealFor(s *session.Session, out *Output) {
	if p.seal(out) && s != nil {
		p.sessions.Wrote(s, p.gates.last)
	}
}
