package chess

import "math/bits"

// pins follows the lines from the own king once and returns what restricts the moves: the enemy
// pieces that give check, and the lines on which an own piece is pinned. A line goes from the
// king (exclusive) to the pinning piece (inclusive). Straight and diagonal lines are separate,
// because a pinned piece may move on its line only if it moves that way. All lines of one sort
// are one set, because no piece can step from one to another.
func (b board) pins(king int) (checkers, straight, diagonal uint64) {
	king &= 63
	occupied := b.occupied()
	enemy := occupied &^ b.own
	checkers = (pawnSteps(1<<king)&b.pawns() | knightMoves[king]&b.knights()) & enemy
	lines := &ray[king]
	for pinners := rookRays[king] & b.straight() & enemy; pinners != 0; pinners &= pinners - 1 {
		line := lines[bits.TrailingZeros64(pinners)]
		blockers := line & occupied &^ (pinners & -pinners)
		if blockers == 0 {
			checkers |= pinners & -pinners
		} else if blockers&(blockers-1) == 0 && blockers&b.own != 0 {
			straight |= line
		}
	}
	for pinners := bishopRays[king] & b.diagonal() & enemy; pinners != 0; pinners &= pinners - 1 {
		line := lines[bits.TrailingZeros64(pinners)]
		blockers := line & occupied &^ (pinners & -pinners)
		if blockers == 0 {
			checkers |= pinners & -pinners
		} else if blockers&(blockers-1) == 0 && blockers&b.own != 0 {
			diagonal |= line
		}
	}
	return checkers, straight, diagonal
}

// steppable returns those of the wanted squares that no enemy piece attacks once the own king
// has left its square. Only squares to which the king can step or castle may be wanted.
func (b board) steppable(king int, wanted uint64) uint64 {
	king &= 63
	occupied := b.occupied()
	enemy := occupied &^ b.own
	attacked := pawnStepsDown(b.pawns()&enemy) | knightSteps(b.knights()&enemy) |
		kingMoves[bits.TrailingZeros64(b.kings()&enemy)&63]
	if wanted&^attacked == 0 {
		return 0
	}
	occupied &^= 1 << king
	for s := b.straight() & enemy & rookZone[king]; s != 0; s &= s - 1 {
		attacked |= rookAttacks(bits.TrailingZeros64(s), occupied)
	}
	for s := b.diagonal() & enemy & bishopZone[king]; s != 0; s &= s - 1 {
		attacked |= bishopAttacks(bits.TrailingZeros64(s), occupied)
	}
	return wanted &^ attacked
}

// castlingWay returns the squares over which the king moves when it castles with the given own
// rook (a set of one or none). It returns none if king and rook cannot reach their targets: no
// other piece may be on their ways. The caller checks that no square of the king's way is
// attacked.
func (b board) castlingWay(king int, rook uint64) uint64 {
	if rook == 0 {
		return 0
	}
	king &= 63
	kingTo, rookTo := castlingTargets(king, rook)
	kingWay := ray[king][kingTo]
	rookWay := ray[bits.TrailingZeros64(rook)][rookTo]
	if (kingWay|rookWay)&b.occupied()&^(rook|1<<king) != 0 {
		return 0
	}
	return kingWay
}

// castlingTargets returns the target files of king and rook: g and f if the rook is to the
// right of the king, otherwise c and d.
func castlingTargets(king int, rook uint64) (kingTo, rookTo int) {
	if rook > 1<<(king&63) {
		return 6, 5
	}
	return 2, 3
}

// epCapturers returns the own pawns that may capture on the en passant square target (a set of
// one or none). Both pawns leave their rank at once, which the lines of pins do not cover; so
// each capture is tried.
func (b board) epCapturers(target uint64) (pawns uint64) {
	king := b.king()
	for s := pawnStepsDown(target) & b.pawns() & b.own; s != 0; s &= s - 1 {
		from := s & -s
		after := b.occupied() ^ from ^ target ^ target>>8
		if b.attackers(king, after) == 0 {
			pawns |= from
		}
	}
	return pawns
}
