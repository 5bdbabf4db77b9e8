package profile

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/journal"
)

// seen collects droppable intents: when players were last seen, and which moves they were shown. They go
// into the journal with the next frame, or alone after seenWaits.
type seen struct {
	clock *clock
	frame []byte
	n     int
	since time.Duration // when the oldest intent was added
}

const (
	seenAtMost = 256
	seenWaits  = time.Second
)

// Add adds a droppable intent, or drops it if there is no room.
func (s *seen) Add(in intent.Intent) {
	if s.n == maxFrame {
		return
	}
	if s.n == 0 {
		s.frame, s.since = journal.Begin(s.frame[:0]), s.clock.since
	}
	s.frame = s.clock.write(s.frame, in)
	s.n++
}

// flush moves the intents to the output if they are due.
func (s *seen) flush(out *Output) {
	if s.n == 0 || out.Frames.Len() == 0 && s.n < seenAtMost && s.clock.since-s.since < seenWaits {
		return
	}
	out.Frames.bytes = append(out.Frames.bytes, s.frame...)
	out.Frames.ends = append(out.Frames.ends, len(out.Frames.bytes))
	s.n = 0
}
