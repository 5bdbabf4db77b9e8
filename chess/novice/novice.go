// Package novice chooses chess moves with the strength of a beginner in a club. It searches two
// plies, then captures and promotions for up to six more, counts material and the places of
// pieces, and sometimes prefers a slightly worse move. It needs no engine. The same Player
// always chooses the same move in the same position.
//
//	m, ok := novice.Player{Seed: 7}.Choose(p)
package novice

import (
	"cmp"
	"slices"

	"wamble/chess"
)

// Player chooses moves. The zero Player is ready to use.
type Player struct {
	// Depth is the number of plies that are searched in full, before only captures and
	// promotions are; 0 or less means 2, more than 4 takes seconds.
	Depth int
	// Whim is by up to how many hundredths of a pawn a chosen move may be worse than the best,
	// for variety; 0 means 40, a negative value none.
	Whim int
	// Seed selects the variations that Whim allows.
	Seed uint64
}

const (
	mate     = 100_000
	captures = 6 // plies of captures and promotions after Depth
)

// Choose returns a move, or false if there is no legal one.
func (pl Player) Choose(p chess.Position) (chess.Move, bool) {
	depth, whim := pl.Depth, pl.Whim
	if depth <= 0 {
		depth = 2
	}
	if whim == 0 {
		whim = 40
	}
	var buf [chess.MaxMoves]chess.Move
	score := evaluate(p)
	best, choice := -2*mate, chess.Move(0)
	for _, m := range p.LegalMoves(buf[:0]) {
		value := -search(p.Play(m), depth-1, -2*mate, 2*mate, -(score + gain(p, m)))
		if whim > 0 && value > -mate/2 && value < mate/2 {
			value += int(mix(pl.Seed^p.Key()^uint64(m)<<48) % uint64(whim))
		}
		if value > best {
			best, choice = value, m
		}
	}
	return choice, choice != 0
}

// search returns the value of a position for the side to move, by alpha-beta search. score is
// what evaluate returns for it.
func search(p chess.Position, depth, alpha, beta, score int) int {
	var buf [chess.MaxMoves]chess.Move
	moves := p.LegalMoves(buf[:0])
	switch {
	case len(moves) == 0 && p.InCheck():
		return -mate - depth // an earlier mate is worse
	case len(moves) == 0 || p.HalfmoveClock() >= 100:
		return 0
	}
	quiet := depth <= 0
	if quiet {
		if score >= beta || depth <= -captures {
			return score
		}
		alpha = max(alpha, score)
		moves = slices.DeleteFunc(moves, func(m chess.Move) bool { return !takes(p, m) })
	}
	slices.SortFunc(moves, func(a, b chess.Move) int { return cmp.Compare(gain(p, b), gain(p, a)) })
	for _, m := range moves {
		value := -search(p.Play(m), depth-1, -beta, -alpha, -(score + gain(p, m)))
		if value >= beta {
			return value
		}
		alpha = max(alpha, value)
	}
	return alpha
}

func takes(p chess.Position, m chess.Move) bool {
	return m.EnPassant() || m.Promotion() != chess.None || !m.Castling() && p.PieceAt(m.To()).Kind != chess.None
}

// evaluate returns the value of the pieces for the side to move, in hundredths of a pawn.
func evaluate(p chess.Position) int {
	score := 0
	for s := range chess.NoSquare {
		switch piece := p.PieceAt(s); {
		case piece.Kind == chess.None:
		case piece.Color == p.Turn():
			score += worth(piece.Kind, piece.Color, s)
		default:
			score -= worth(piece.Kind, piece.Color, s)
		}
	}
	return score
}

// gain returns by how much a move changes what evaluate returns for the side that makes it; for
// castling, 50.
func gain(p chess.Position, m chess.Move) int {
	if m.Castling() {
		return 50
	}
	side := p.Turn()
	kind := p.PieceAt(m.From()).Kind
	g := -worth(kind, side, m.From())
	if m.Promotion() != chess.None {
		kind = m.Promotion()
	}
	g += worth(kind, side, m.To())
	if m.EnPassant() {
		return g + pieces[chess.Pawn]
	}
	if taken := p.PieceAt(m.To()); taken.Kind != chess.None {
		g += worth(taken.Kind, taken.Color, m.To())
	}
	return g
}

// pieces has the value of each kind of piece in hundredths of a pawn.
var pieces = [...]int{chess.Pawn: 100, chess.Knight: 310, chess.Bishop: 325, chess.Rook: 500, chess.Queen: 950,
	chess.King: 0}

// worth returns the value of a piece on a square. It is higher for pawns that are advanced or
// central, for knights and bishops in the centre and off their first rank, for rooks on the
// seventh rank, and for a king in a corner.
func worth(kind chess.Kind, side chess.Color, s chess.Square) int {
	rank, file := s.Rank(), s.File()
	if side == chess.Black {
		rank = 7 - rank
	}
	centre := min(file, 7-file) + min(rank, 7-rank) // 0 in a corner, 6 in the middle
	v := pieces[kind]
	switch kind {
	case chess.Pawn:
		v += rank * rank
		if file == 3 || file == 4 {
			v += 5 * min(rank, 3)
		}
	case chess.Knight, chess.Bishop:
		v += 6 * centre
		if rank == 0 {
			v -= 10
		}
	case chess.Rook:
		if rank == 6 {
			v += 15
		}
	case chess.Queen:
		v += centre
	case chess.King:
		v -= 8 * centre
	}
	return v
}

// mix returns a number that depends on all bits of x (SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
