package chess

import "math/bits"

// generate appends the legal moves of the own pieces on the squares in from, as the side to
// move sees the board. The target of castling is the rook's square if kingTakesRook is set.
func (b board) generate(dst []Move, epSet, from uint64, kingTakesRook bool) []Move {
	king := b.king()
	checkers, straight, diagonal := b.pins(king)
	targets := ^b.own
	if checkers != 0 {
		if checkers&(checkers-1) != 0 {
			targets = 0
		} else {
			targets = ray[king][bits.TrailingZeros64(checkers)]
		}
	}
	if targets != 0 {
		dst = b.generatePawns(dst, b.pawns()&b.own&from, epSet, targets, straight, diagonal)
		dst = b.generatePieces(dst, from, targets, straight, diagonal)
	}
	if from>>king&1 == 0 {
		return dst
	}
	return b.generateKing(dst, king, checkers, straight, kingTakesRook)
}

// generateKing appends the steps of the king and castling. A rook that is pinned along the
// rank, which is possible in Chess960, cannot castle: that would open the line to the king.
func (b board) generateKing(dst []Move, king int, checkers, straight uint64, kingTakesRook bool) []Move {
	king &= 63
	steps := kingMoves[king] &^ b.own
	var rooks, ways [2]uint64 // to the right, to the left
	if checkers == 0 {
		castlers := b.castlers() & b.own &^ straight
		rooks = [2]uint64{castlers >> king << king, castlers & (1<<king - 1)}
		ways = [2]uint64{b.castlingWay(king, rooks[0]), b.castlingWay(king, rooks[1])}
	}
	safe := b.steppable(king, steps|ways[0]|ways[1])
	dst = appendMoves(dst, king, steps&safe)
	for i, way := range ways {
		if way == 0 || way&^safe != 0 {
			continue
		}
		to, _ := castlingTargets(king, rooks[i])
		if kingTakesRook {
			to = bits.TrailingZeros64(rooks[i])
		}
		dst = append(dst, Move(king)|Move(to)<<6|castling<<12)
	}
	return dst
}

func appendMoves(dst []Move, from int, targets uint64) []Move {
	for ; targets != 0; targets &= targets - 1 {
		dst = append(dst, Move(from)|Move(bits.TrailingZeros64(targets))<<6)
	}
	return dst
}

// generatePieces appends the moves of knights, bishops, rooks and queens.
func (b board) generatePieces(dst []Move, from, targets, straight, diagonal uint64) []Move {
	occupied := b.occupied()
	own := b.own & from
	for s := b.knights() & own &^ (straight | diagonal); s != 0; s &= s - 1 {
		square := bits.TrailingZeros64(s)
		dst = appendMoves(dst, square, knightMoves[square]&targets)
	}
	for s := b.diagonal() & own &^ straight; s != 0; s &= s - 1 {
		square := bits.TrailingZeros64(s)
		seen := bishopAttacks(square, occupied) & targets
		if s&-s&diagonal != 0 {
			seen &= diagonal
		}
		dst = appendMoves(dst, square, seen)
	}
	for s := b.straight() & own &^ diagonal; s != 0; s &= s - 1 {
		square := bits.TrailingZeros64(s)
		seen := rookAttacks(square, occupied) & targets
		if s&-s&straight != 0 {
			seen &= straight
		}
		dst = appendMoves(dst, square, seen)
	}
	return dst
}

// generatePawns appends the moves of the given pawns.
func (b board) generatePawns(dst []Move, pawns, epSet, targets, straight, diagonal uint64) []Move {
	push, double, left, right := b.pawnTargets(pawns, targets, straight, diagonal)
	dst = appendPawns(dst, push, 8)
	for s := double; s != 0; s &= s - 1 {
		to := bits.TrailingZeros64(s)
		dst = append(dst, Move(to-16)|Move(to)<<6|doublePush<<12)
	}
	dst = appendPawns(dst, left, 7)
	dst = appendPawns(dst, right, 9)
	if epSet != 0 {
		for s := b.epCapturers(epSet) & pawns; s != 0; s &= s - 1 {
			dst = append(dst, Move(bits.TrailingZeros64(s))|Move(bits.TrailingZeros64(epSet))<<6|enPassant<<12)
		}
	}
	return dst
}

// appendPawns appends pawn moves to the given targets. A pawn comes from the square that is
// step below its target. Promotions are in the order queen, rook, bishop, knight.
func appendPawns(dst []Move, targets uint64, step int) []Move {
	for s := targets &^ rank8; s != 0; s &= s - 1 {
		to := bits.TrailingZeros64(s)
		dst = append(dst, Move(to-step)|Move(to)<<6)
	}
	for s := targets & rank8; s != 0; s &= s - 1 {
		to := bits.TrailingZeros64(s)
		m := Move(to-step) | Move(to)<<6 | promotes<<12
		dst = append(dst, m+3<<12, m+2<<12, m+1<<12, m)
	}
	return dst
}
