package chess

import "math/bits"

// zobrist has the random numbers of the Zobrist keys: one for each bit of the four words of a
// board as White sees it, one for each file on which an en passant capture is possible, and one
// for Black to move. Two different boards have the same key with a probability of 2⁻⁶⁴, as with
// one number per piece, but these four tables are shorter. They never change, so keys may be
// stored.
var zobrist = func() (z struct {
	planes [4][64]uint64
	epFile [8]uint64
	black  uint64
}) {
	next := splitMix(0x57616d626c65) // "Wamble"
	for plane := range z.planes {
		for square := range z.planes[plane] {
			z.planes[plane][square] = next()
		}
	}
	for file := range z.epFile {
		z.epFile[file] = next()
	}
	z.black = next()
	return z
}()

// splitMix returns the SplitMix64 generator of Steele, Lea and Flood.
func splitMix(state uint64) func() uint64 {
	return func() uint64 {
		state += 0x9e3779b97f4a7c15
		x := state
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
}

// Key returns the Zobrist key of the position. It is equal for positions that are the same
// under the rule of repetition: with the same pieces, side to move, castling rights and en
// passant captures. The counters do not matter, nor does an en passant square on which no pawn
// may legally capture. The key of a position is the same in every version of this package.
func (p *Position) Key() uint64 {
	b := p.board.white(p.turn)
	z := &zobrist.planes
	key := fold(b.p0, &z[0]) ^ fold(b.p1, &z[1]) ^ fold(b.p2, &z[2]) ^ fold(b.own, &z[3])
	if p.epFile != 0 && p.board.epCapturers(epSet(p.epFile)) != 0 {
		key ^= zobrist.epFile[(p.epFile-1)&7]
	}
	if p.turn == Black {
		key ^= zobrist.black
	}
	return key
}

// fold returns the xor of the numbers of the bits in set.
func fold(set uint64, numbers *[64]uint64) (sum uint64) {
	for ; set != 0; set &= set - 1 {
		sum ^= numbers[bits.TrailingZeros64(set)&63]
	}
	return sum
}
