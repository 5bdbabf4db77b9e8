package tokenbucket

import (
	"testing"
	"time"
	"unsafe"
)

// TestBucket takes tokens from a bucket that starts full.
func TestBucket(t *testing.T) {
	three := Limit{Rate: 3, Per: time.Second, Burst: 3}
	seven := Limit{Rate: 7, Per: time.Minute, Burst: 7}
	slow := Limit{Rate: 1, Per: 2 * time.Second, Burst: 4}
	bytes := Limit{Rate: 1000, Per: time.Second, Burst: 4000}
	type step struct {
		now         time.Duration
		size, times int
		want        int // how many of them are taken
	}
	for _, tc := range []struct {
		name  string
		limit Limit
		steps []step
	}{
		{"a burst", three, []step{{0, 1, 10, 3}}},
		{"a burst that is no whole number of nanoseconds", seven, []step{{time.Hour, 1, 10, 7}}},
		{"one after the other", three, []step{{0, 1, 10, 3}, {300 * time.Millisecond, 1, 1, 0}, {time.Second / 3, 1, 2, 1}, {time.Second, 1, 5, 2}}},
		{"a part of a token is kept", slow, []step{{0, 1, 9, 4}, {3 * time.Second, 1, 9, 1}, {4 * time.Second, 1, 9, 1}}},
		{"never more than the burst", slow, []step{{0, 1, 9, 4}, {24 * time.Hour, 1, 9, 4}}},
		{"a refusal costs nothing", slow, []step{{0, 1, 1000, 4}, {2 * time.Second, 1, 9, 1}}},
		{"several at once", bytes, []step{{0, 1500, 3, 2}, {0, 1000, 1, 1}, {time.Second / 2, 501, 1, 0}, {time.Second / 2, 500, 1, 1}}},
		{"more than the burst", bytes, []step{{time.Hour, 4001, 1, 0}, {time.Hour, 4000, 1, 1}}},
		{"the clock goes back", slow, []step{{time.Minute, 1, 3, 3}, {59 * time.Second, 1, 9, 0}, {time.Minute, 1, 9, 1}, {time.Minute + 2*time.Second, 1, 9, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b Bucket
			for i, s := range tc.steps {
				got := 0
				for range s.times {
					if b.Take(s.now, s.size, tc.limit) {
						got++
					}
				}
				if got != s.want {
					t.Errorf("step %d: got %d times %d tokens, want %d times", i+1, got, s.size, s.want)
				}
			}
		})
	}
}

// TestDebt spends tokens that are not there.
func TestDebt(t *testing.T) {
	l := Limit{Rate: 1, Per: time.Second, Burst: 4}
	for _, tc := range []struct {
		spent int
		full  time.Duration // when it has all tokens again
	}{{0, 0}, {3, 3 * time.Second}, {6, 6 * time.Second}, {100, 8 * time.Second}} {
		var b Bucket
		for range tc.spent {
			b.Spend(0, 1, l)
		}
		if tc.spent > 0 && b.Has(tc.full-1, l.Burst, l) || !b.Has(tc.full, l.Burst, l) {
			t.Errorf("after %d tokens it is not full at %v", tc.spent, tc.full)
		}
	}
}

// TestUsed stores buckets as a number of tokens and a time.
func TestUsed(t *testing.T) {
	l := Limit{Rate: 3, Per: time.Second, Burst: 6}
	var b Bucket
	for now := time.Hour; now < time.Hour+time.Minute; now += 77 * time.Millisecond {
		b.Take(now, 1, l)
		n, at := b.Used(now, l)
		if at > now || n < 0 || n > l.Burst {
			t.Fatalf("at %v: %d tokens at %v", now, n, at)
		}
		if got := Full(at, n, l); got != b {
			t.Fatalf("at %v: got %v, want %v", now, got, b)
		}
	}
}

func TestSize(t *testing.T) {
	var b Bucket
	if got := unsafe.Sizeof(b); got != 8 {
		t.Errorf("a bucket has %d bytes", got)
	}
	l := Limit{Rate: 16, Per: time.Second, Burst: 64}
	if n := testing.AllocsPerRun(100, func() { b.Take(time.Second, 1, l); b.Spend(time.Second, 1, l) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
