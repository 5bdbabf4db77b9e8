package loader

import (
	"testing"
	"time"
)

// TestSeconds: the sustained rate is that of the second half, and a sudden drop is reported.
func TestSeconds(t *testing.T) {
	for _, tc := range []struct {
		seconds     []uint64
		half, worst float64
	}{
		{nil, 50, 0},
		{[]uint64{70}, 50, 1},
		{[]uint64{70, 30}, 30, 30.0 / 70},
		{[]uint64{100, 100, 40, 60}, 50, 0.4},
		{[]uint64{100, 100, 10, 100, 100}, 70, 0.1},
		{[]uint64{100, 0, 100}, 50, 0},
	} {
		r := Report{Elapsed: 2 * time.Second, Answered: 100, Seconds: tc.seconds}
		if got := r.SecondHalf(); got != tc.half {
			t.Errorf("%v: the second half has %v a second, want %v", tc.seconds, got, tc.half)
		}
		if got := r.WorstSecond(); got != tc.worst {
			t.Errorf("%v: the worst second is %v of the one in the middle, want %v", tc.seconds, got, tc.worst)
		}
	}
}
