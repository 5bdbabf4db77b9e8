package chess

// Perft returns the number of leaves of the tree of legal moves, depth plies
// deep: the measure that a move generator is right. The last ply is counted,
// not played. Depth 0 and less is one leaf.
func (p Position) Perft(depth int) uint64 {
	switch {
	case depth <= 0:
		return 1
	case p.board.kings() == 0:
		return 0
	case depth == 1:
		return uint64(p.CountLegal())
	}
	return p.board.perft(p.inPassing(), depth)
}

// Branch is one root move of a perft and the leaves below it.
type Branch struct {
	Move  Move
	Nodes uint64
}

// Divide returns Perft split by root move, in the order of LegalMoves. Depth
// must be at least 1; less gives none.
func (p Position) Divide(depth int) []Branch {
	if depth < 1 {
		return nil
	}
	var buf [MaxMoves]Move
	var branches []Branch
	for _, m := range p.LegalMoves(buf[:0]) {
		branches = append(branches, Branch{m, p.Play(m).Perft(depth - 1)})
	}
	return branches
}

// perft counts leaves for depth ≥ 2.
func (b board) perft(inPassing uint64, depth int) (nodes uint64) {
	var buf [MaxMoves]Move
	moves := b.generate(buf[:0], inPassing, ^uint64(0), true)
	if depth == 2 {
		for _, m := range moves {
			next, passing := b.after(m)
			nodes += uint64(next.count(passing))
		}
		return nodes
	}
	for _, m := range moves {
		next, passing := b.after(m)
		nodes += next.perft(passing, depth-1)
	}
	return nodes
}
