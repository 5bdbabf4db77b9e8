package server

import "slices"

// histogram counts values in buckets. It belongs to one goroutine, or to
// whoever holds its lock: counting costs no more than a search in a short list.
type histogram struct {
	bounds []float64 // upper ends, ascending
	counts []uint64  // one more than bounds: the last has no end
	sum    float64
}

var (
	latencyBounds = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5} // s
	groupBounds   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}                     // frames
)

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// observe counts n times the value v.
func (h *histogram) observe(v float64, n uint64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i] += n
	h.sum += v * float64(n)
}

func (h *histogram) clone() histogram {
	return histogram{bounds: h.bounds, counts: slices.Clone(h.counts), sum: h.sum}
}

// total returns how many values were counted, and for each bound how many were
// at or below it.
func (h *histogram) total() (count uint64, below map[float64]uint64) {
	below = make(map[float64]uint64, len(h.bounds))
	for i, n := range h.counts {
		count += n
		if i < len(h.bounds) {
			below[h.bounds[i]] = count
		}
	}
	return count, below
}
