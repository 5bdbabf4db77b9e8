package loop

import "slices"

// Histogram counts values in buckets. The caller serializes its use.
type Histogram struct {
	Bounds []float64 // upper ends, ascending
	Counts []uint64  // one more than Bounds: the last is unbounded
	Sum    float64
}

var (
	LatencyBounds = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5} // s
	groupBounds   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}                     // frames
)

func newHistogram(bounds []float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

// observe counts the value v n times.
func (h *Histogram) observe(v float64, n uint64) {
	i, _ := slices.BinarySearch(h.Bounds, v)
	h.Counts[i] += n
	h.Sum += v * float64(n)
}

func (h *Histogram) clone() Histogram {
	return Histogram{Bounds: h.Bounds, Counts: slices.Clone(h.Counts), Sum: h.Sum}
}

// Total returns how many values were counted, and for each bound how many were at or below it.
func (h *Histogram) Total() (count uint64, below map[float64]uint64) {
	below = make(map[float64]uint64, len(h.Bounds))
	for i, n := range h.Counts {
		count += n
		if i < len(h.Bounds) {
			below[h.Bounds[i]] = count
		}
	}
	return count, below
}
