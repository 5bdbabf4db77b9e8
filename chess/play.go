package chess

// after returns the board after a legal move, turned around for the other side, and the en
// passant square that the move leaves (a set of one or none), as the other side sees it.
func (b board) after(m Move) (next board, epSet uint64) {
	f, t := m&63, m>>6&63
	from, to := uint64(1)<<f, uint64(1)<<t
	if rooks := b.castlers() & b.own; rooks != 0 {
		if m.special() == castling {
			return b.castled(int(f), int(t)).turned(), 0
		}
		if b.kings()&from == 0 {
			rooks &= from
		}
		b.p0 &^= rooks
		b.p2 &^= rooks
	}
	// The three bits of the code are copied from one square to the other, without branches on
	// what moves and what is captured.
	b.p0 = b.p0&^(from|to) | b.p0>>f&1<<t
	b.p1 = b.p1&^(from|to) | b.p1>>f&1<<t
	b.p2 = b.p2&^(from|to) | b.p2>>f&1<<t
	b.own = b.own&^from | to
	switch special := m.special(); special {
	case ordinary:
	case doublePush:
		epSet = 1 << (t & 7) << 40
	case enPassant:
		b.p2 &^= to >> 8
	default:
		b.lift(to)
		b.put(to, codeOfKind[m.Promotion()], true)
	}
	return b.turned(), epSet
}

// castled moves king and rook. The rook is the one on the side of the target, for both ways to
// write the move.
func (b board) castled(king, target int) board {
	rooks := b.castlers() & b.own
	b.p0 &^= rooks
	b.p2 &^= rooks
	if target > king {
		rooks &^= 1<<king - 1
	} else {
		rooks &= 1<<king - 1
	}
	kingTo, rookTo := castlingTargets(king, rooks)
	b.lift(rooks | 1<<king)
	b.put(1<<kingTo, codeOfKind[King], true)
	b.put(1<<rookTo, codeOfKind[Rook], true)
	return b
}
