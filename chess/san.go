package chess

import "math/bits"

// maxSAN is the length of the longest move in SAN: "Qa1xb2#", "axb8=Q#".
const maxSAN = 7

// SAN returns a legal move in standard algebraic notation: "e4", "Nbd7",
// "exd8=Q#", "O-O". The move must be legal in p.
func (p Position) SAN(m Move) string {
	var buf [maxSAN]byte
	return string(p.AppendSAN(buf[:0], m))
}

// AppendSAN appends what SAN returns to dst, at most 7 bytes.
func (p Position) AppendSAN(dst []byte, m Move) []byte {
	dst = p.appendUnmarked(dst, m)
	if mark := p.suffix(m); mark != 0 {
		dst = append(dst, mark)
	}
	return dst
}

// suffix returns '+' for a move that gives check, '#' for one that gives mate, otherwise 0.
func (p Position) suffix(m Move) byte {
	next := p.Play(m)
	switch {
	case !next.InCheck():
		return 0
	case next.CountLegal() == 0:
		return '#'
	}
	return '+'
}

func (p Position) appendUnmarked(dst []byte, m Move) []byte {
	if m.Castling() {
		if m.To() > m.From() {
			return append(dst, "O-O"...)
		}
		return append(dst, "O-O-O"...)
	}
	kind := p.PieceAt(m.From()).Kind
	takes := p.takes(m)
	if kind == Pawn {
		if takes {
			dst = append(dst, 'a'+byte(m.From().File()))
		}
	} else {
		dst = p.appendOrigin(append(dst, whiteLetters[kind]), m, kind)
	}
	if takes {
		dst = append(dst, 'x')
	}
	dst = m.To().append(dst)
	if promotion := m.Promotion(); promotion != None {
		dst = append(dst, '=', whiteLetters[promotion])
	}
	return dst
}

// takes reports whether m is a capture. m must not castle.
func (p Position) takes(m Move) bool { return m.EnPassant() || p.PieceAt(m.To()).Kind != None }

// appendOrigin appends what distinguishes m from the moves of other pieces of its kind to the
// same square: the file if that is enough, else the rank, else both.
func (p Position) appendOrigin(dst []byte, m Move, kind Kind) []byte {
	var buf [MaxMoves]Move
	var rivals, sameFile, sameRank bool
	for _, other := range p.legal(buf[:0], p.own(kind)) {
		from := other.From()
		if other.To() != m.To() || from == m.From() || other.Castling() {
			continue
		}
		rivals = true
		sameFile = sameFile || from.File() == m.From().File()
		sameRank = sameRank || from.Rank() == m.From().Rank()
	}
	if rivals && (!sameFile || sameRank) {
		dst = append(dst, 'a'+byte(m.From().File()))
	}
	if sameFile {
		dst = append(dst, '1'+byte(m.From().Rank()))
	}
	return dst
}

// own returns the pieces of one kind of the side to move, as that side sees the board.
func (p Position) own(kind Kind) (set uint64) {
	for s := p.board.own; s != 0; s &= s - 1 {
		if kindOfCode[p.board.code(uint(bits.TrailingZeros64(s)))] == kind {
			set |= s & -s
		}
	}
	return set
}
