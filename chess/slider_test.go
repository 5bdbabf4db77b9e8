package chess

import "testing"

// TestSliders compares the attacks past every set of blockers with a walk along the lines.
func TestSliders(t *testing.T) {
	for _, slider := range []struct {
		name   string
		look   func(int, uint64) uint64
		letter byte
		mask   func(int) uint64
		want   int
	}{
		{"rook", rookAttacks, 'R', func(s int) uint64 { return rookLines[s].rank | rookLines[s].file }, 102400},
		{"bishop", bishopAttacks, 'B', func(s int) uint64 { return bishopLines[s].rising | bishopLines[s].falling }, 5248},
	} {
		entries := 0
		for square := range 64 {
			mask := slider.mask(square)
			for set := uint64(0); ; {
				entries++
				if got, want := slider.look(square, set), walked(square, set, slider.letter); got != want {
					t.Fatalf("%s on %s among %#x sees %#x, want %#x", slider.name, Square(square), set, got, want)
				}
				if set = (set - mask) & mask; set == 0 {
					break
				}
			}
		}
		if entries != slider.want {
			t.Errorf("%s: %d sets of blockers compared, want %d", slider.name, entries, slider.want)
		}
	}
}

// walked asks the reference implementation.
func walked(square int, blockers uint64, letter byte) (seen uint64) {
	var r reference
	for s := range r.squares {
		r.squares[s] = '.'
		if blockers>>s&1 != 0 {
			r.squares[s] = 'p'
		}
	}
	r.squares[square] = letter
	for _, s := range r.reach(square) {
		seen |= 1 << s
	}
	return seen
}

func TestRays(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"a1", "d4", "b2 c3 d4"},
		{"h1", "e1", "g1 f1 e1"},
		{"c6", "c3", "c5 c4 c3"},
		{"a8", "h1", "b7 c6 d5 e4 f3 g2 h1"},
		{"a1", "b3", "b3"},
		{"e4", "e4", "e4"},
	} {
		from, to := mustSquare(t, c.from), mustSquare(t, c.to)
		if got, want := ray[from][to], squares(t, c.want); got != want {
			t.Errorf("ray from %s to %s = %#x, want %#x", c.from, c.to, got, want)
		}
	}
}
