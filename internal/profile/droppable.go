package profile

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/journal"
)

// droppable collects droppable intents: when players were last seen, and which moves they were shown. They go
// into the journal with the next frame, or alone after droppableDelay.
type droppable struct {
	clock *clock
	frame []byte
	n     int
	since time.Duration // when the oldest intent was added
}

const (
	maxDroppable   = 256
	droppableDelay = time.Second
)

// Add adds a droppable intent, or drops it if there is no room.
func (d *droppable) Add(in intent.Intent) {
	if d.n == maxFrame {
		return
	}
	if d.n == 0 {
		d.frame, d.since = journal.Begin(d.frame[:0]), d.clock.since
	}
	d.frame = d.clock.write(d.frame, in)
	d.n++
}

// flush moves the intents to the output if they are due.
func (d *droppable) flush(out *Output) {
	if d.n == 0 || out.Frames.Len() == 0 && d.n < maxDroppable && d.clock.since-d.since < droppableDelay {
		return
	}
	out.Frames.bytes = append(out.Frames.bytes, d.frame...)
	out.Frames.ends = append(out.Frames.ends, len(out.Frames.bytes))
	d.n = 0
}
