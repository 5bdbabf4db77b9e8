package loop

import "time"

// stopwatch measures how long moves take from being read to being durable, and to the handover of their
// answers to the kernel. It measures steps, not packets: all moves of a step were read together.
type stopwatch struct {
	steps     []timedStep // not yet durable, oldest first
	first     int
	moves     uint64      // accepted up to the last step
	leaving   []timedStep // durable, with answers that have not left yet
	toDurable Histogram
	toSent    Histogram
	trace     *tracer // traces single steps; nil if there is none
}

type timedStep struct {
	durableIndex uint64
	at           time.Time
	moves        uint64
}

func newStopwatch() stopwatch {
	return stopwatch{toDurable: newHistogram(LatencyBounds), toSent: newHistogram(LatencyBounds)}
}

// step records a step that made frames; moves counts the moves accepted up to it. It returns how many of
// them the step accepted.
func (w *stopwatch) step(at time.Time, durableIndex, moves uint64) uint64 {
	n := moves - w.moves
	w.moves = moves
	if n == 0 {
		return 0
	}
	if w.first > len(w.steps)/2 {
		w.steps, w.first = append(w.steps[:0], w.steps[w.first:]...), 0
	}
	w.steps = append(w.steps, timedStep{durableIndex, at, n})
	return n
}

// durable records that everything up to durable index is durable, since now.
func (w *stopwatch) durable(now time.Time, durableIndex uint64) {
	for w.first < len(w.steps) && w.steps[w.first].durableIndex <= durableIndex {
		s := w.steps[w.first]
		w.toDurable.observe(now.Sub(s.at).Seconds(), s.moves)
		w.leaving = append(w.leaving, s)
		w.first++
	}
}

// leave returns the steps whose answers are sent now, and reuses the memory of spare.
func (w *stopwatch) leave(spare []timedStep) []timedStep {
	steps := w.leaving
	w.leaving = spare[:0]
	return steps
}

// sent records when the answers of steps have left.
func (w *stopwatch) sent(steps []timedStep, at time.Time) {
	for _, s := range steps {
		w.toSent.observe(at.Sub(s.at).Seconds(), s.moves)
		w.trace.sent(s.durableIndex, at)
	}
}

// sentNow is sent for the steps in leaving.
func (w *stopwatch) sentNow(at time.Time) {
	w.sent(w.leaving, at)
	w.leaving = w.leaving[:0]
}

// restart forgets the steps under way, for another instance.
func (w *stopwatch) restart() {
	w.steps, w.first, w.leaving, w.moves = w.steps[:0], 0, w.leaving[:0], 0
}
