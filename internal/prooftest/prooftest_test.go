package prooftest

import (
	"testing"
	"time"
)

func TestSized(t *testing.T) {
	small := 2 // of 160, for make test
	if Raced {
		small = 1
	} else if proving {
		small = 8
	}
	for _, c := range []struct {
		soak        string
		whole, want int
	}{{"", 160, small}, {"", 3, 1}, {"0", 160, small}, {"1", 160, 160}} {
		t.Setenv("WAMBLE_SOAK", c.soak)
		if got := Part(c.whole); got != c.want {
			t.Errorf("WAMBLE_SOAK=%s: got %d of %d, want %d", c.soak, got, c.whole, c.want)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("WAMBLE_SOAK", "")
	t.Setenv("WAMBLE_SEED", "18446744073709551615")
	if got := Seed(t); got != 1<<64-1 {
		t.Errorf("got %d", got)
	}
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("the same seed gave %d and %d", a, b)
	}
	t.Setenv("WAMBLE_SEED", "")
	if a, b := Seed(t), Seed(t); (a == b) == proving {
		t.Errorf("seeds %d and %d: want the same in make test, and others in make proof", a, b)
	}
	t.Setenv("WAMBLE_SOAK", "1")
	if a, b := Seed(t), Seed(t); a == b {
		t.Errorf("make soak has the same seed twice: %d", a)
	}
}

// verdict collects the output of a proof.
type verdict struct {
	testing.TB
	failed, logged int
}

func (v *verdict) Helper()               {}
func (v *verdict) Errorf(string, ...any) { v.failed++ }
func (v *verdict) Logf(string, ...any)   { v.logged++ }

// TestBound: a figure that is too large fails a proof, unless the host took the time.
func TestBound(t *testing.T) {
	now := readTimes()
	if now.all == 0 {
		t.Fatal("/proc/stat says nothing about the processors")
	}
	for _, c := range []struct {
		name   string
		got    time.Duration
		began  times
		failed int
	}{
		{"within the bound", time.Second, now, 0},
		{"above it", 3 * time.Second, now, 1},
		{"above it, but half of the time was stolen", 3 * time.Second, times{all: now.all - 10_000, stolen: now.stolen - 5_000}, 0},
	} {
		var v verdict
		p := &Proof{t: &v, began: c.began}
		p.Bound("it", c.got, 2*time.Second)
		if v.failed != c.failed || v.failed+v.logged != 1 {
			t.Errorf("%s: failed %d times, logged %d times", c.name, v.failed, v.logged)
		}
	}
}

func TestParseTimes(t *testing.T) {
	got := parseTimes("cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2\n")
	if want := (times{all: 360, stolen: 80}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (times{all: 460, stolen: 105}).stolenSince(got); got != 0.25 {
		t.Errorf("stolen: got %v", got)
	}
}
