package chess

import "math/bits"

// The random numbers of the Zobrist keys: one for every bit of the four words
// of a board seen by White, one for every file on which an en passant capture
// is possible, one for Black to move. Two boards that differ in any bit differ
// in their keys but for a chance of 2⁻⁶⁴, as with one number per piece, and
// four short tables do for all pieces and rights. They never change: keys may
// be stored.
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

// Key returns the Zobrist key of the position: equal for positions that are
// the same for the rule of repetition, that is, with the same pieces, side to
// move, castling rights and en passant captures. The counters do not matter,
// nor does an en passant square on which nothing can legally be taken. The
// key of a position is the same in every version of this package.
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

// fold returns the sum of the numbers of a set of squares.
func fold(set uint64, numbers *[64]uint64) (sum uint64) {
	for ; set != 0; set &= set - 1 {
		sum ^= numbers[bits.TrailingZeros64(set)&63]
	}
	return sum
}
