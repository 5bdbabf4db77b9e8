package link

import (
	"math/rand/v2"
	"testing"
)

func TestWindowPlaces(t *testing.T) {
	type step struct {
		seq  uint32
		want windowPlace
	}
	cases := map[string][]step{ // each number is looked up, then admitted
		"in order":         {{1, ahead}, {2, ahead}, {3, ahead}, {2, seen}, {1, seen}},
		"zero is a number": {{0, ahead}, {0, seen}, {1, ahead}},
		"late but unseen":  {{10, ahead}, {5, late}, {5, seen}, {10, seen}},
		"edge of 1024":     {{2000, ahead}, {977, late}, {976, behind}, {977, seen}},
		"a jump forgets":   {{10, ahead}, {5000, ahead}, {10, behind}, {4500, late}},
		"wraps": {{1<<32 - 2, ahead}, {1, ahead}, {1<<32 - 2, seen}, {1<<32 - 1, late}, {0, late},
			{0, seen}},
		"half the numbers": {{0, ahead}, {1<<31 - 1, ahead}, {0, behind}},
		"more than half":   {{10, ahead}, {10 + 1<<31, behind}},
		"bits are recycled": {{1, ahead}, {1025, ahead}, {1, behind}, {2, late}, {2049, ahead}, {1025, behind},
			{1026, late}},
	}
	for name, steps := range cases {
		var w window
		for i, s := range steps {
			if got := w.find(s.seq); got != s.want {
				t.Errorf("%s, step %d: number %d is at %d, want %d", name, i, s.seq, got, s.want)
			}
			w.admit(s.seq)
		}
	}
}

// Numbers from before a restart belong to another run, and are not taken for
// late ones.
func TestWindowRestart(t *testing.T) {
	var w window
	w.admit(100)
	w.restart(50)
	for seq, want := range map[uint32]windowPlace{49: behind, 50: seen, 51: ahead, 100: ahead} {
		if got := w.find(seq); got != want {
			t.Errorf("number %d is at %d, want %d", seq, got, want)
		}
	}
	w.admit(2000)
	if got := w.find(1500); got != late {
		t.Errorf("number 1500 is at %d, want late", got)
	}
}

// TestWindowAgainstASet compares the window with a plain set of numbers.
func TestWindowAgainstASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var w window
	admitted := map[uint32]bool{}
	top := uint32(1<<32 - 3000)
	w.restart(top)
	admitted[top] = true
	for range 20_000 {
		s := top + uint32(rng.IntN(30)) - uint32(rng.IntN(1500))
		want := late
		switch d := int32(s - top); {
		case d > 0:
			want = ahead
		case d <= -windowSize || int32(s-w.low) < 0:
			want = behind
		case admitted[s]:
			want = seen
		}
		if got := w.find(s); got != want {
			t.Fatalf("number %d with top %d is at %d, want %d", s, top, got, want)
		}
		if want == behind {
			continue
		}
		if rng.IntN(10) == 0 {
			w.forget(s)
			if want != ahead {
				delete(admitted, s)
			}
			continue
		}
		w.admit(s)
		admitted[s] = true
		if want == ahead {
			top = s
		}
	}
}
