package chess

// sanMove has the parts of a move in SAN.
type sanMove struct {
	kind       Kind
	file, rank int // of the origin; -1 when not given
	takes      bool
	to         Square
	promotion  Kind
	castling   string // "O-O", "O-O-O" or ""
	mark       byte   // '+', '#' or 0
}

// ParseSAN reads a move in standard algebraic notation and returns it if it is legal. More of
// the origin may be given than is needed ("Ng1f3"), and the mark of check or mate may be
// missing. What is written must be right: a capture has its x, a promotion its "=Q", and a mark
// is refused on a move that does not give check or mate.
//
// A malformed move gives a *ParseError, one that no legal move fits ErrIllegal, one that
// several fit ErrAmbiguous.
func (p Position) ParseSAN(s string) (Move, error) {
	want, err := readSAN(s)
	if err != nil {
		return 0, err
	}
	var buf [MaxMoves]Move
	var found Move
	for _, m := range p.legal(buf[:0], p.own(want.kind)) {
		if !p.fits(m, want) {
			continue
		}
		if found != 0 {
			return 0, ErrAmbiguous
		}
		found = m
	}
	if found == 0 {
		return 0, ErrIllegal
	}
	if want.mark != 0 && want.mark != p.suffix(found) {
		return 0, parseErrorf(len(s)-1, "the move does not deserve its %q", want.mark)
	}
	return found, nil
}

// fits reports whether a legal move of the right kind of piece is the wanted one.
func (p Position) fits(m Move, want sanMove) bool {
	if want.castling != "" {
		return m.Castling() && (m.To() > m.From()) == (want.castling == "O-O")
	}
	return !m.Castling() && m.To() == want.to &&
		m.Promotion() == want.promotion &&
		(want.file < 0 || want.file == m.From().File()) &&
		(want.rank < 0 || want.rank == m.From().Rank()) &&
		want.takes == p.takes(m)
}

// readSAN reads the parts of a move. It reads all but the piece from the end: mark, promotion,
// target, capture, origin.
func readSAN(s string) (sanMove, error) {
	w := sanMove{kind: Pawn, file: -1, rank: -1}
	if len(s) < 2 || len(s) > maxSAN+1 {
		return w, parseErrorf(min(len(s), maxSAN+1), "a move in SAN has 2 to %d characters", maxSAN+1)
	}
	rest := s
	if last := rest[len(rest)-1]; last == '+' || last == '#' {
		w.mark = last
		rest = rest[:len(rest)-1]
	}
	if rest == "O-O" || rest == "O-O-O" {
		w.kind, w.castling = King, rest
		return w, nil
	}
	start := 0
	if kind := kindOf(rest[0]); kind != None && kind != Pawn && rest[0] < 'a' {
		w.kind, start = kind, 1
	}
	if n := len(rest); n >= 2 && rest[n-2] == '=' {
		w.promotion = kindOf(rest[n-1])
		if rest[n-1] >= 'a' || w.promotion < Knight || w.promotion > Queen || w.kind != Pawn {
			return w, parseErrorf(n-1, "a pawn promotes to one of Q, R, B, N")
		}
		rest = rest[:n-2]
	}
	if len(rest) < start+2 {
		return w, parseErrorf(len(rest), "the target square is missing")
	}
	to, err := ParseSquare(rest[len(rest)-2:])
	if err != nil {
		return w, parseErrorf(len(rest)-2, "%q is not a square", rest[len(rest)-2:])
	}
	w.to = to
	rest = rest[:len(rest)-2]
	if len(rest) > start && rest[len(rest)-1] == 'x' {
		w.takes = true
		rest = rest[:len(rest)-1]
	}
	return w.readOrigin(rest, start)
}

// readOrigin reads the part between the piece and the x or the target.
func (w sanMove) readOrigin(rest string, at int) (sanMove, error) {
	if at < len(rest) && rest[at] >= 'a' && rest[at] <= 'h' {
		w.file = int(rest[at] - 'a')
		at++
	}
	if at < len(rest) && rest[at] >= '1' && rest[at] <= '8' && w.kind != Pawn {
		w.rank = int(rest[at] - '1')
		at++
	}
	if at < len(rest) {
		return w, parseErrorf(at, "%q does not belong into a move", rest[at])
	}
	if w.kind == Pawn && w.takes != (w.file >= 0) {
		return w, parseErrorf(at, "a pawn names its file when it captures, and only then")
	}
	return w, nil
}
