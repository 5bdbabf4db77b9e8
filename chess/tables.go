package chess

import "math/bits"

const (
	fileA uint64 = 0x0101010101010101
	fileH        = fileA << 7
	rank1 uint64 = 0xff
	rank2        = rank1 << 8
	rank3        = rank1 << 16
	rank7        = rank1 << 48
	rank8        = rank1 << 56
	// darkSquares holds a1 and all squares of its colour.
	darkSquares uint64 = 0xaa55aa55aa55aa55
	// castlingSquares are all squares that a king can pass over when it castles: b1 to g1,
	// because in Chess960 it may begin on b1 and end on g1.
	castlingSquares uint64 = 0x7e
)

var (
	kingMoves   [64]uint64
	knightMoves [64]uint64
	// rookRays and bishopRays have what is attacked from a square on an empty board.
	rookRays   [64]uint64
	bishopRays [64]uint64
	// rookZone and bishopZone are indexed by the king's square. They have the squares from
	// which, on an empty board, a rook or bishop attacks a square to which the king can step or
	// castle.
	rookZone   [64]uint64
	bishopZone [64]uint64
	// ray[from][to] has the squares after from up to and including to if they are on one line;
	// otherwise only to. It is used for the squares that end a check and for the line on which
	// a pinned piece may move.
	ray [64][64]uint64
)

func init() {
	for square := range 64 {
		kingMoves[square] = kingSteps(1 << square)
		knightMoves[square] = knightSteps(1 << square)
	}
	fillSliders()
	for from := range 64 {
		rookRays[from] = rookAttacks(from, 0)
		bishopRays[from] = bishopAttacks(from, 0)
		for to := range 64 {
			ray[from][to] = rayTo(from, to)
		}
	}
	for king := range 64 {
		wanted := kingMoves[king]
		if king < 8 {
			wanted |= castlingSquares
		}
		for ; wanted != 0; wanted &= wanted - 1 {
			rookZone[king] |= rookRays[bits.TrailingZeros64(wanted)]
			bishopZone[king] |= bishopRays[bits.TrailingZeros64(wanted)]
		}
	}
}

// rayTo returns one entry of ray. It needs rookRays and bishopRays.
func rayTo(from, to int) uint64 {
	start, end := uint64(1)<<from, uint64(1)<<to
	switch {
	case rookRays[from]&end != 0:
		return rookAttacks(from, end)&rookAttacks(to, start) | end
	case bishopRays[from]&end != 0:
		return bishopAttacks(from, end)&bishopAttacks(to, start) | end
	}
	return end
}

// kingSteps returns the squares one step of a king from any of the given ones.
func kingSteps(from uint64) uint64 {
	row := from | from<<1&^fileA | from>>1&^fileH
	return (row | row<<8 | row>>8) &^ from
}

// knightSteps returns the squares one move of a knight from any of the given ones.
func knightSteps(from uint64) uint64 {
	one := from<<1&^fileA | from>>1&^fileH
	two := from<<2&^(fileA|fileA<<1) | from>>2&^(fileH|fileH>>1)
	return one<<16 | one>>16 | two<<8 | two>>8
}

// pawnSteps returns the squares that pawns moving up the board attack.
func pawnSteps(from uint64) uint64 { return from<<7&^fileH | from<<9&^fileA }

// pawnStepsDown returns the squares that pawns moving down the board attack.
func pawnStepsDown(from uint64) uint64 { return from>>9&^fileH | from>>7&^fileA }
