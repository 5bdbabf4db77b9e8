package loop

import (
	"math"
	"testing"
	"time"
)

// Three moves of one step take 4 ms to be durable, and 9 ms to leave.
func TestStopwatch(t *testing.T) {
	w, began := newStopwatch(), time.Unix(1e9, 0)
	w.step(began, 1, 3)
	w.step(began.Add(time.Millisecond), 2, 4)
	w.durable(began.Add(4*time.Millisecond), 1)
	w.sentNow(began.Add(9 * time.Millisecond))
	for _, tc := range []struct {
		name string
		got  float64
		want float64
	}{
		{"to durable", w.toDurable.Sum, 3 * 0.004},
		{"to sent", w.toSent.Sum, 3 * 0.009},
		{"moves durable in 2 to 5 ms", float64(w.toDurable.Counts[3]), 3},
		{"moves that left in 5 to 10 ms", float64(w.toSent.Counts[4]), 3},
	} {
		if math.Abs(tc.got-tc.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}
