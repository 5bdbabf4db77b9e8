package chess

import "math/bits"

// board is the pieces as the side to move sees them: its own pieces move up the board, and own
// has a bit for each of them. After each move the board is turned around, so that every rule is
// written once, for one direction.
//
// The kind of piece on a square is a 3-bit number. Its bits are in three planes, so that a set
// of pieces takes one or two operations:
//
//	p2 p1 p0
//	 0  0  0  empty
//	 0  0  1  bishop          p0 without p2: moves diagonally
//	 0  1  0  rook
//	 0  1  1  queen           p1, unless king: moves straight
//	 1  0  0  pawn
//	 1  0  1  knight
//	 1  1  0  king
//	 1  1  1  rook that still may castle
//
// The right to castle is part of the rook's code, so it is lost when the rook is captured or
// moved. Four words fit into registers: copying a board is cheaper than taking a move back.
type board struct{ p0, p1, p2, own uint64 }

func (b board) occupied() uint64 { return b.p0 | b.p1 | b.p2 }
func (b board) pawns() uint64    { return b.p2 &^ (b.p0 | b.p1) }
func (b board) knights() uint64  { return b.p2 & b.p0 &^ b.p1 }
func (b board) kings() uint64    { return b.p2 & b.p1 &^ b.p0 }

// diagonal returns bishops and queens.
func (b board) diagonal() uint64 { return b.p0 &^ b.p2 }

// straight returns rooks and queens.
func (b board) straight() uint64 { return b.p1 & (b.p0 | ^b.p2) }

// castlers returns the rooks that still may castle, of both sides.
func (b board) castlers() uint64 { return b.p0 & b.p1 & b.p2 }

// turned returns the board as the other side sees it.
func (b board) turned() board {
	return board{
		p0:  bits.ReverseBytes64(b.p0),
		p1:  bits.ReverseBytes64(b.p1),
		p2:  bits.ReverseBytes64(b.p2),
		own: bits.ReverseBytes64(b.occupied() &^ b.own),
	}
}

// codeOfKind has the code of each kind, kindOfCode the kind of each code. castler is the code
// of a rook that may still castle; callers of this package see it as a Rook.
const castler = 7

var (
	codeOfKind = [7]uint8{None: 0, Pawn: 4, Knight: 5, Bishop: 1, Rook: 2, Queen: 3, King: 6}
	kindOfCode = [8]Kind{4: Pawn, 5: Knight, 1: Bishop, 2: Rook, 3: Queen, 6: King, castler: Rook}
)

// code returns the 3-bit code of the given square.
func (b board) code(square uint) uint8 {
	s := square & 63
	return uint8(b.p0>>s&1 | b.p1>>s&1<<1 | b.p2>>s&1<<2)
}

// put places a piece on empty squares.
func (b *board) put(squares uint64, code uint8, own bool) {
	if code&1 != 0 {
		b.p0 |= squares
	}
	if code&2 != 0 {
		b.p1 |= squares
	}
	if code&4 != 0 {
		b.p2 |= squares
	}
	if own {
		b.own |= squares
	}
}

// lift clears squares.
func (b *board) lift(squares uint64) {
	b.p0 &^= squares
	b.p1 &^= squares
	b.p2 &^= squares
	b.own &^= squares
}

// king returns the square of the own king, that of the side to move. (The mask, here and below,
// shows the compiler that no index and no shift by the square can be out of range.)
func (b board) king() int { return bits.TrailingZeros64(b.kings()&b.own) & 63 }

// attackers returns the enemy pieces that attack square if occupied is the set of occupied
// squares, which may differ from that of the board.
func (b board) attackers(square int, occupied uint64) uint64 {
	square &= 63
	return (pawnSteps(1<<square)&b.pawns() |
		knightMoves[square]&b.knights() |
		kingMoves[square]&b.kings() |
		bishopAttacks(square, occupied)&b.diagonal() |
		rookAttacks(square, occupied)&b.straight()) & occupied &^ b.own
}
