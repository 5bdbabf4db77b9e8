package chess

import "math/bits"

// The random numbers of the Zobrist keys: one for every code of a piece (a
// rook that may castle has its own), colour and square; one for every file on
// which an en passant capture is possible; one for Black to move. They never
// change: keys may be stored.
var zobrist = func() (z struct {
	pieces  [2][8][64]uint64
	passing [8]uint64
	black   uint64
}) {
	next := splitMix(0x57616d626c65) // "Wamble"
	for color := range z.pieces {
		for code := 1; code < 8; code++ {
			for square := range 64 {
				z.pieces[color][code][square] = next()
			}
		}
	}
	for file := range z.passing {
		z.passing[file] = next()
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
func (p Position) Key() uint64 {
	b := p.white()
	var key uint64
	for s := b.occupied(); s != 0; s &= s - 1 {
		square := uint(bits.TrailingZeros64(s))
		key ^= zobrist.pieces[^b.own>>(square&63)&1][b.code(square)&7][square&63]
	}
	if p.passing != 0 && p.board.takesInPassing(p.inPassing()) != 0 {
		key ^= zobrist.passing[(p.passing-1)&7]
	}
	if p.turn == Black {
		key ^= zobrist.black
	}
	return key
}
