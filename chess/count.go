package chess

import "math/bits"

// count returns the number of moves that generate appends, but adds up the sizes of target sets
// and does not make the moves. epSet is the set of the en passant square, or empty.
func (b board) count(epSet uint64) int {
	king := b.king()
	checkers, straight, diagonal := b.pins(king)
	targets := ^b.own
	steps := kingMoves[king] &^ b.own
	var short, long uint64 // squares that the king passes over when it castles
	if rooks := b.castlers() & b.own &^ straight; rooks != 0 && checkers == 0 {
		short = b.castlingWay(king, rooks>>king<<king)
		long = b.castlingWay(king, rooks&(1<<king-1))
	}
	n := 0
	if wanted := steps | short | long; wanted != 0 {
		safe := b.steppable(king, wanted)
		n = bits.OnesCount64(safe & steps)
		if short != 0 && short&^safe == 0 {
			n++
		}
		if long != 0 && long&^safe == 0 {
			n++
		}
	}
	if checkers != 0 {
		if checkers&(checkers-1) != 0 {
			return n
		}
		targets = ray[king][bits.TrailingZeros64(checkers)]
	}
	if epSet != 0 {
		n += bits.OnesCount64(b.epCapturers(epSet))
	}
	occupied := b.occupied()
	for s := b.knights() & b.own &^ (straight | diagonal); s != 0; s &= s - 1 {
		n += bits.OnesCount64(knightMoves[bits.TrailingZeros64(s)] & targets)
	}
	movers := b.diagonal() & b.own &^ straight
	for s := movers &^ diagonal; s != 0; s &= s - 1 {
		n += bits.OnesCount64(bishopAttacks(bits.TrailingZeros64(s), occupied) & targets)
	}
	for s := movers & diagonal; s != 0; s &= s - 1 {
		n += bits.OnesCount64(bishopAttacks(bits.TrailingZeros64(s), occupied) & targets & diagonal)
	}
	movers = b.straight() & b.own &^ diagonal
	for s := movers &^ straight; s != 0; s &= s - 1 {
		n += bits.OnesCount64(rookAttacks(bits.TrailingZeros64(s), occupied) & targets)
	}
	for s := movers & straight; s != 0; s &= s - 1 {
		n += bits.OnesCount64(rookAttacks(bits.TrailingZeros64(s), occupied) & targets & straight)
	}
	push, double, left, right := b.pawnTargets(b.pawns()&b.own, targets, straight, diagonal)
	n += bits.OnesCount64(push) + bits.OnesCount64(double) + bits.OnesCount64(left) + bits.OnesCount64(right)
	if (push|left|right)&rank8 != 0 {
		n += 3 * (bits.OnesCount64(push&rank8) + bits.OnesCount64(left&rank8) + bits.OnesCount64(right&rank8))
	}
	return n
}

// movable reports whether count is more than 0, and checks first what can nearly always move.
func (b board) movable(epSet uint64) bool {
	if b.kings() == 0 {
		return false
	}
	checkers, straight, diagonal := b.pins(b.king())
	if checkers != 0 {
		return b.count(epSet) > 0
	}
	if push, _, left, right := b.pawnTargets(b.pawns()&b.own, ^b.own, straight, diagonal); push|left|right != 0 {
		return true
	}
	return knightSteps(b.knights()&b.own&^(straight|diagonal))&^b.own != 0 || b.count(epSet) > 0
}

// pawnTargets returns where the given own pawns may go, all pawns at once: by one step, by two,
// and by capture to the left and right, but not en passant. A pawn pinned on a straight line
// never captures, one pinned on a diagonal never pushes, and both stay on their line.
func (b board) pawnTargets(pawns, targets, straight, diagonal uint64) (push, double, left, right uint64) {
	empty := ^b.occupied()
	movers := pawns &^ diagonal
	push = ((movers&^straight)<<8 | (movers&straight)<<8&straight) & empty
	double = push & rank3 << 8 & empty & targets
	push &= targets
	takes := targets &^ (empty | b.own)
	movers = pawns &^ straight
	free, bound := movers&^diagonal, movers&diagonal
	left = (free<<7 | bound<<7&diagonal) &^ fileH & takes
	right = (free<<9 | bound<<9&diagonal) &^ fileA & takes
	return push, double, left, right
}
