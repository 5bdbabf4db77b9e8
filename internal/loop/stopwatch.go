package loop

import "time"

// stopwatch measures how long moves take from being read to being durable, and
// to the moment at which their answers were handed to the kernel. It counts
// steps, not packets: all moves of a step were read together.
type stopwatch struct {
	steps     []timedStep // not yet durable, oldest first
	first     int
	moves     uint64      // accepted up to the last step
	leaving   []timedStep // durable in the present step, or since packets left
	toDurable Histogram
	toSent    Histogram
	trace     *tracer // that follows single steps; nil: none
}

type timedStep struct {
	gate  uint64
	at    time.Time
	moves uint64
}

func newStopwatch() stopwatch {
	return stopwatch{toDurable: newHistogram(LatencyBounds), toSent: newHistogram(LatencyBounds)}
}

// step notes a step that made frames. moves is how many moves were accepted up
// to it. It returns how many were accepted in it.
func (w *stopwatch) step(at time.Time, gate, moves uint64) uint64 {
	n := moves - w.moves
	w.moves = moves
	if n == 0 {
		return 0
	}
	if w.first > len(w.steps)/2 {
		w.steps, w.first = append(w.steps[:0], w.steps[w.first:]...), 0
	}
	w.steps = append(w.steps, timedStep{gate, at, n})
	return n
}

// durable notes that everything up to gate is durable, since now.
func (w *stopwatch) durable(now time.Time, gate uint64) {
	for w.first < len(w.steps) && w.steps[w.first].gate <= gate {
		s := w.steps[w.first]
		w.toDurable.observe(now.Sub(s.at).Seconds(), s.moves)
		w.leaving = append(w.leaving, s)
		w.first++
	}
}

// leave returns the steps whose answers are to be sent now, and takes the memory
// of others in exchange.
func (w *stopwatch) leave(spare []timedStep) []timedStep {
	steps := w.leaving
	w.leaving = spare[:0]
	return steps
}

// sent notes that the answers of steps have left.
func (w *stopwatch) sent(steps []timedStep, at time.Time) {
	for _, s := range steps {
		w.toSent.observe(at.Sub(s.at).Seconds(), s.moves)
		w.trace.sent(s.gate, at)
	}
}

// left is sent for the answers of the present step.
func (w *stopwatch) left(at time.Time) {
	w.sent(w.leaving, at)
	w.leaving = w.leaving[:0]
}

// restart forgets what is under way: another life begins.
func (w *stopwatch) restart() {
	w.steps, w.first, w.leaving, w.moves = w.steps[:0], 0, w.leaving[:0], 0
}
