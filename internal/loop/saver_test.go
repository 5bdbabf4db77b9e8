package loop

import (
	"testing"
	"time"
)

// TestSaverWorth: a restart file is written again after fifty times its cost, after ten times
// if a start would have much to replay, and never within a second.
func TestSaverWorth(t *testing.T) {
	ended := time.Now()
	for _, tc := range []struct {
		name string
		cost time.Duration
		tail uint64
		want time.Duration
	}{
		{"a small world", time.Millisecond, 0, time.Second},
		{"a small world under load", time.Millisecond, 10 * longTail, time.Second},
		{"a large world", time.Second, longTail, 50 * time.Second},
		{"a large world under load", time.Second, longTail + 1, 10 * time.Second},
		{"a slow disk", time.Minute, 0, rarelySave},
		{"a slow disk under load", 2 * time.Minute, 10 * longTail, rarelySave},
	} {
		s := &saver{ended: ended, cost: tc.cost}
		if s.worth(ended.Add(tc.want-1), tc.tail) || !s.worth(ended.Add(tc.want), tc.tail) {
			t.Errorf("%s: not after %v", tc.name, tc.want)
		}
	}
}
