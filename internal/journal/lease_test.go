package journal

import (
	"slices"
	"testing"
	"time"

	"wamble"
)

func TestLeases(t *testing.T) {
	l := NewLeases(10)
	if _, ok := l.Next(wamble.BoardIDs); ok {
		t.Fatal("an empty supply has no number")
	}
	if got := l.Want(wamble.BoardIDs, 0); got != 10 {
		t.Fatalf("got %d wanted, want 10", got)
	}
	if got := l.Want(wamble.BoardIDs, 0); got != 0 {
		t.Fatalf("while a lease is under way: got %d wanted, want 0", got)
	}
	l.Add(wamble.BoardIDs, nil)
	if got := l.Want(wamble.BoardIDs, 0); got != 10 {
		t.Fatalf("after a failed lease: got %d wanted, want 10", got)
	}
	l.Add(wamble.BoardIDs, []wamble.Block{{First: 5, Count: 3}, {First: 100, Count: 0}, {First: 20, Count: 7}})
	if got := l.Remaining(wamble.BoardIDs); got != 10 {
		t.Fatalf("got %d left, want 10", got)
	}
	var got []int64
	for range 4 {
		id, _ := l.Next(wamble.BoardIDs)
		got = append(got, id)
	}
	if want := []int64{5, 6, 7, 20}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := l.Want(wamble.BoardIDs, 0); n != 0 {
		t.Errorf("6 of 10 left: got %d wanted, want 0", n)
	}
	l.Next(wamble.BoardIDs)
	if n := l.Want(wamble.BoardIDs, 0); n != 10 {
		t.Errorf("half used: got %d wanted, want 10", n)
	}
	if _, ok := l.Next(wamble.SessionIDs); ok {
		t.Error("sequences have supplies of their own")
	}
}

// TestLeasesBeginSmall: profiles of one store share its low numbers, and lease more as they
// grow, up to the usual size.
func TestLeasesBeginSmall(t *testing.T) {
	next := int64(1) // of the store
	lease := func(l *Leases, n int) {
		l.Add(wamble.BoardIDs, []wamble.Block{{First: next, Count: int64(n)}})
		next += int64(n)
	}
	var profiles [3]*Leases
	for i := range profiles {
		l := NewLeases(16384)
		profiles[i] = l
		l.BeginSmall(wamble.BoardIDs, 4)
		n := l.Want(wamble.BoardIDs, 0)
		if l.Add(wamble.BoardIDs, nil); l.Want(wamble.BoardIDs, 0) != n {
			t.Errorf("a lease of %d that failed is not asked for again", n)
		}
		lease(l, n)
	}
	if next > 3*firstSmall+1 {
		t.Errorf("three profiles begin with %d numbers", next-1)
	}
	for made := 1; made <= 40_000; made++ {
		for _, l := range profiles {
			for n := l.Want(wamble.BoardIDs, 0); n > 0; n = l.Want(wamble.BoardIDs, 0) {
				lease(l, n)
			}
			id, ok := l.Next(wamble.BoardIDs)
			left := l.Remaining(wamble.BoardIDs)
			switch {
			case !ok:
				t.Fatalf("after %d boards there are no numbers", made)
			case made > 1000 && id > int64(made*len(profiles)*2), made <= 32 && id > int64(len(profiles)*firstSmall):
				t.Fatalf("board %d of a profile has the number %d", made, id)
			case left < firstSmall/2-1, made > 1000 && left < leastSmall/2-1, made > 30_000 && left < 16384/2-1:
				t.Fatalf("after %d boards only %d numbers are left", made, left)
			}
		}
	}
	l := NewLeases(16384)
	l.Add(wamble.BoardIDs, []wamble.Block{{First: 100_000, Count: 500}})
	if l.BeginSmall(wamble.BoardIDs, 4); l.Want(wamble.BoardIDs, 0) != 16384 {
		t.Error("a large world leases few numbers")
	}
}

// TestLeasesLast: at any rate at which numbers were used when the store went away, they last
// for hours; but not for ever, which would be many.
func TestLeasesLast(t *testing.T) {
	for _, tc := range []struct {
		perSecond   int
		least, most time.Duration
	}{
		{0, 0, 0}, // nothing is taken: the first lease is enough
		{1, 4 * time.Hour, 12 * time.Hour},
		{70, 4 * time.Hour, 12 * time.Hour}, // a full machine
		{500, 4 * time.Hour, 12 * time.Hour},
		{5000, 25 * time.Minute, time.Hour},
	} {
		l, next := NewLeases(16384), int64(1)
		if tc.perSecond > 0 {
			l.BeginSmall(wamble.BoardIDs, 4) // they last as long
		}
		second := func(now time.Duration) {
			for range tc.perSecond {
				l.Next(wamble.BoardIDs)
			}
			parts := 0
			for end := now + time.Second; now < end; now += 10 * time.Millisecond {
				n := l.Want(wamble.BoardIDs, now)
				if n > 16384 {
					t.Fatalf("%d numbers a second: %d are leased at once, want 16384 at most", tc.perSecond, n)
				}
				if n > 0 {
					parts++
				}
				l.Add(wamble.BoardIDs, []wamble.Block{{First: next, Count: int64(n)}})
				next += int64(n)
			}
			if parts > 20 {
				t.Errorf("%d numbers a second: %d leases in one, want 20 at most", tc.perSecond, parts)
			}
		}
		for s := range 120 {
			second(time.Duration(s) * time.Second)
		}
		left := l.Remaining(wamble.BoardIDs)
		if tc.perSecond == 0 {
			if left != 16384 {
				t.Errorf("at rest: %d numbers in stock, want 16384", left)
			}
			continue
		}
		got := time.Duration(left/int64(tc.perSecond)) * time.Second
		if got < tc.least || got > tc.most {
			t.Errorf("%d numbers a second: %d last for %v, want %v to %v", tc.perSecond, left, got, tc.least, tc.most)
		}
	}
}
