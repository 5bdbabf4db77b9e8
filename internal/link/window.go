package link

// windowSize is how many sequence numbers, including the maximum, a window covers.
const windowSize = 1024

// windowPlace is the position of a sequence number relative to a window.
type windowPlace uint8

const (
	ahead  windowPlace = iota // beyond the maximum, or the window is empty
	late                      // inside, not seen
	seen                      // inside, seen
	behind                    // too old to know, or from before the current run
)

// window records which of the last 1024 sequence numbers were admitted. Distances are computed
// in uint32 arithmetic, so the numbers may wrap.
type window struct {
	max, low uint32                  // the numbers inside: low … max
	used     bool                    // max and low are valid
	bits     [windowSize / 64]uint64 // bit s mod 1024
}

func (w *window) find(s uint32) windowPlace {
	switch {
	case !w.used || int32(s-w.max) > 0:
		return ahead
	case int32(s-w.low) < 0:
		return behind
	case w.bits[s%windowSize/64]&(1<<(s%64)) != 0:
		return seen
	}
	return late
}

// admit marks s as seen, and moves the window if s is ahead. A number that is behind is not
// recorded.
func (w *window) admit(s uint32) {
	switch w.find(s) {
	case behind:
		return
	case ahead:
		w.advance(s)
	}
	w.bits[s%windowSize/64] |= 1 << (s % 64)
}

func (w *window) advance(s uint32) {
	d := s - w.max
	if !w.used || d >= windowSize {
		w.bits = [windowSize / 64]uint64{}
	} else {
		for t := w.max + 1; t != s+1; t++ {
			w.bits[t%windowSize/64] &^= 1 << (t % 64)
		}
	}
	if !w.used || s-w.low >= windowSize {
		w.low = s - (windowSize - 1)
	}
	w.max, w.used = s, true
}

// forget marks s as not seen, so that a repetition is new.
func (w *window) forget(s uint32) {
	if w.find(s) == seen {
		w.bits[s%windowSize/64] &^= 1 << (s % 64)
	}
}

// restart begins a new run of numbers with s. Lower numbers belong to the earlier run and are
// behind.
func (w *window) restart(s uint32) {
	*w = window{max: s, low: s, used: true}
	w.bits[s%windowSize/64] |= 1 << (s % 64)
}
