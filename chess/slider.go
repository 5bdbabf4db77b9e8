package chess

import "math/bits"

// A rook or bishop attacks the squares of its two lines up to and including the first piece. At
// most six squares of a line matter, because a piece on the rim hides nothing. A multiplication
// collects their bits in the six top bits, as the index of a table with 64 entries per line and
// square. (One multiplication for both lines, known as magic bitboards, needs tables seven
// times as large, and is slower when they exceed the first cache.)
type rookLine struct {
	rank, file uint64 // squares that matter
	factor     uint64 // collects the bits of file
}

type bishopLine struct{ rising, falling uint64 }

var (
	rookLines    [64]rookLine
	bishopLines  [64]bishopLine
	rankViews    [64][64]uint64
	fileViews    [64][64]uint64
	risingViews  [64][64]uint64
	fallingViews [64][64]uint64
)

const (
	// byFile is the factor that collects squares of different files: it adds up all ranks.
	byFile = fileA << 1
	// byRank is the factor that collects squares of the a-file; shifted down by n, those of the
	// n-th file.
	byRank uint64 = 0x0080402010080400
)

// rookAttacks returns the squares that a rook on square attacks.
func rookAttacks(square int, occupied uint64) uint64 {
	square &= 63
	l := &rookLines[square]
	return rankViews[square][occupied&l.rank*byFile>>58] | fileViews[square][occupied&l.file*l.factor>>58]
}

// bishopAttacks returns the squares that a bishop on square attacks.
func bishopAttacks(square int, occupied uint64) uint64 {
	square &= 63
	l := &bishopLines[square]
	return risingViews[square][occupied&l.rising*byFile>>58] | fallingViews[square][occupied&l.falling*byFile>>58]
}

// fillSliders fills the tables of rooks and bishops.
func fillSliders() {
	for square := range 64 {
		own := uint64(1) << square
		rank, file := rank1<<(square&56)^own, fileA<<(square&7)^own
		factor := byRank >> (square & 7)
		rookLines[square] = rookLine{
			rank:   fillViews(&rankViews[square], square, rank, byFile),
			file:   fillViews(&fileViews[square], square, file, factor),
			factor: factor,
		}
		rising, falling := diagonals(square)
		bishopLines[square] = bishopLine{
			rising:  fillViews(&risingViews[square], square, rising, byFile),
			falling: fillViews(&fallingViews[square], square, falling, byFile),
		}
	}
}

// fillViews sets the attacked squares of one line for every set of blockers, and returns the
// squares that matter.
func fillViews(views *[64]uint64, square int, line, factor uint64) (mask uint64) {
	mask = inner(square, line)
	for blockers := uint64(0); ; {
		views[blockers*factor>>58] = lineAttacks(square, blockers, line)
		if blockers = (blockers - mask) & mask; blockers == 0 {
			return mask
		}
	}
}

// lineAttacks returns the squares attacked from square along one line, a rank, file or diagonal
// without the square itself. Subtracting twice the square's bit from the blockers flips all
// bits up to the first blocker above; the same on the mirrored board does so below.
func lineAttacks(square int, blockers, line uint64) uint64 {
	own := uint64(1) << square
	up := blockers - 2*own
	down := bits.Reverse64(bits.Reverse64(blockers) - 2*bits.Reverse64(own))
	return (up ^ down) & line
}

// inner returns a line without its squares on the rim, where it leaves the board.
func inner(square int, line uint64) uint64 {
	rim := (rank1|rank8)&^(rank1<<(square&56)) | (fileA|fileH)&^(fileA<<(square&7))
	return line &^ rim
}

// diagonals returns the two diagonals through square, without the square itself.
func diagonals(square int) (rising, falling uint64) {
	for other := range 64 {
		files, ranks := other&7-square&7, other>>3-square>>3
		switch {
		case files == 0:
		case files == ranks:
			rising |= 1 << other
		case files == -ranks:
			falling |= 1 << other
		}
	}
	return rising, falling
}
