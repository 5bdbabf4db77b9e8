package prooftest

import "testing"

func TestSized(t *testing.T) {
	for _, c := range []struct {
		soak  string
		whole int
		want  int
	}{{"", 100, 5}, {"", 3, 1}, {"0", 100, 5}, {"1", 100, 100}} {
		t.Setenv("WAMBLE_SOAK", c.soak)
		if got := Part(c.whole); got != c.want {
			t.Errorf("WAMBLE_SOAK=%s: got %d of %d, want %d", c.soak, got, c.whole, c.want)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("WAMBLE_SEED", "18446744073709551615")
	if got := Seed(t); got != 1<<64-1 {
		t.Errorf("got %d", got)
	}
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("the same seed gave %d and %d", a, b)
	}
	t.Setenv("WAMBLE_SEED", "")
	if a, b := Seed(t), Seed(t); a == b {
		t.Errorf("without a seed it is the same twice: %d", a)
	}
}
