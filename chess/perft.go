package chess

import "iter"

// Perft returns the number of leaves of the tree of legal moves, depth plies deep. It serves to
// check the move generator. The moves of the last ply are counted, not played. For a depth of 0
// or less it returns 1.
func (p Position) Perft(depth int) uint64 {
	switch {
	case depth <= 0:
		return 1
	case p.board.kings() == 0:
		return 0
	case depth == 1:
		return uint64(p.CountLegal())
	}
	return p.board.perft(epSet(p.epFile), depth)
}

// Divide returns each legal move, in the order of LegalMoves, with the number of leaves below
// it. The leaves of a move are counted when the loop reaches it. Depth must be at least 1; for
// less there are no moves.
func (p Position) Divide(depth int) iter.Seq2[Move, uint64] {
	return func(yield func(Move, uint64) bool) {
		if depth < 1 {
			return
		}
		var buf [MaxMoves]Move
		for _, m := range p.LegalMoves(buf[:0]) {
			if !yield(m, p.Play(m).Perft(depth-1)) {
				return
			}
		}
	}
}

// perft counts the leaves for a depth of at least 2.
func (b board) perft(epSet uint64, depth int) (nodes uint64) {
	var buf [MaxMoves]Move
	moves := b.generate(buf[:0], epSet, ^uint64(0), true)
	if depth == 2 {
		for _, m := range moves {
			next, epSet := b.after(m)
			nodes += uint64(next.count(epSet))
		}
		return nodes
	}
	for _, m := range moves {
		next, epSet := b.after(m)
		nodes += next.perft(epSet, depth-1)
	}
	return nodes
}
