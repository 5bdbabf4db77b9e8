package chess

// History has the keys of the positions of a game since its last capture or pawn move, the
// present one last. That is enough to count repetitions. The zero History is ready to use. It
// has at most maxHistory keys (1 KiB) and may be stored as it is.
//
//	h = h.Add(&p)        // the initial position, then after each move
//	o := p.Outcome(h)
type History []uint64

// maxHistory is more than the 101 positions that a game can have under the 50-move rule without
// capture or pawn move.
const maxHistory = 128

// Add returns the history with p as its present position. It reuses the memory of h, which must
// not be used any more, and allocates only to grow.
func (h History) Add(p *Position) History {
	if p.halfmoves == 0 {
		h = h[:0]
	}
	if len(h) >= maxHistory {
		h = h[:copy(h, h[len(h)-maxHistory+1:])]
	}
	return append(h, p.Key())
}

// Repetitions returns how often the present position has occurred, itself included: 1 if it is
// new, 0 for an empty history.
func (h History) Repetitions() int {
	if len(h) == 0 {
		return 0
	}
	n := 0
	for i := len(h) - 1; i >= 0; i -= 2 {
		if h[i] == h[len(h)-1] {
			n++
		}
	}
	return n
}
