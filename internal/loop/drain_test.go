package loop

import (
	"testing"
	"time"
)

func TestRemaining(t *testing.T) {
	for _, tc := range []struct {
		all, left  int
		took, want time.Duration
	}{
		{1000, 1000, time.Second, 0}, // nothing is known yet
		{1000, 0, time.Second, 0},
		{1000, 500, 10 * time.Second, 11 * time.Second},
		{1000, 999, time.Second, 1000 * time.Second},
		{1000, 1, time.Second, time.Second},
		{10, 20, time.Second, 0}, // more has come
	} {
		if got := remainingTime(tc.all, tc.left, tc.took); got != tc.want {
			t.Errorf("%d of %d left after %v: got %v, want %v", tc.left, tc.all, tc.took, got, tc.want)
		}
	}
}
