package chess

import "math/bits"

// castling reads the third field and marks the rooks it names as rooks that may castle. The
// position is a Chess960 one if a right is given by a file, or if its king or rook is not where
// it begins on a classical board.
func (r *fenReader) castling() {
	if r.peek() == '-' {
		r.at++
		return
	}
	start := r.at
	for c := r.peek(); c != 0 && c != ' '; c = r.peek() {
		if r.at-start == 4 {
			r.failf("there are at most 4 castling rights")
			return
		}
		r.castlingRight(c)
		r.at++
	}
	if r.at == start {
		r.failf("castling rights are '-' or letters")
	}
}

// castlingRight applies one letter.
func (r *fenReader) castlingRight(c byte) {
	color, home, own := White, rank1, r.white.own
	if c >= 'a' {
		color, home, own = Black, rank8, r.white.occupied()&^r.white.own
	}
	king := r.white.kings() & own & home
	rooks := r.white.straight() &^ r.white.diagonal() & own & home
	if king == 0 {
		r.failf("the king of %s is not on its back rank and cannot castle", color)
		return
	}
	switch letter := c | 0x20; {
	case letter == 'k':
		rooks = highest(rooks &^ (king - 1))
	case letter == 'q':
		rooks &= king - 1
		rooks &= -rooks
	case letter >= 'a' && letter <= 'h':
		rooks &= fileA << (letter - 'a')
		r.chess960 = true
	default:
		r.failf("castling rights are letters of KQkq or files a–h")
		return
	}
	side := king - 1
	if rooks > king {
		side = ^side
	}
	switch {
	case rooks == 0:
		r.failf("no rook of %s fits the castling right %q", color, c)
		return
	case r.white.castlers()&own&side != 0:
		r.failf("%s has two castling rights on one side", color)
		return
	}
	if king&(fileA<<4) == 0 || rooks&(fileA|fileH) == 0 {
		r.chess960 = true
	}
	r.white.p0 |= rooks
	r.white.p1 |= rooks
	r.white.p2 |= rooks
}

func highest(set uint64) uint64 {
	if set == 0 {
		return 0
	}
	return 1 << (63 - bits.LeadingZeros64(set))
}

// appendCastling appends the third field, king side before queen side. The board must be seen
// by White.
func appendCastling(dst []byte, white board, chess960 bool) []byte {
	first := len(dst)
	for color, own := range [2]uint64{white.own, ^white.own} {
		king := white.kings() & own
		rooks := white.castlers() & own
		sides := [2]struct {
			rook   uint64
			letter byte
		}{{rooks &^ (king - 1), 'K'}, {rooks & (king - 1), 'Q'}}
		for _, side := range sides {
			if side.rook == 0 {
				continue
			}
			letter := side.letter
			if chess960 {
				letter = 'A' + byte(bits.TrailingZeros64(side.rook)&7)
			}
			dst = append(dst, letter|byte(color)<<5)
		}
	}
	if len(dst) == first {
		dst = append(dst, '-')
	}
	return dst
}
