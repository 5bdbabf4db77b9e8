package chess

// ParseUCI reads a move as in UCI and returns it if it is legal: two squares and, only if a
// pawn promotes, one of q, r, b, n. Castling is e1g1 on classical boards and king takes rook on
// Chess960 boards.
//
// A malformed move gives a *ParseError, any other that is not legal ErrIllegal.
func (p Position) ParseUCI(s string) (Move, error) {
	if len(s) != 4 && len(s) != 5 {
		return 0, parseErrorf(min(len(s), 5), "a move has 4 or 5 characters, this one has %d", len(s))
	}
	for i := range 4 {
		low, high := byte('a'), byte('h')
		if i&1 == 1 {
			low, high = '1', '8'
		}
		if s[i] < low || s[i] > high {
			return 0, parseErrorf(i, "%q is not one of %c–%c", s[i], low, high)
		}
	}
	promotion := None
	if len(s) == 5 {
		switch s[4] {
		case 'n', 'b', 'r', 'q':
			promotion = kindOf(s[4])
		default:
			return 0, parseErrorf(4, "a pawn promotes to one of q, r, b, n, not to %q", s[4])
		}
	}
	from := Square(s[1]-'1')*8 + Square(s[0]-'a')
	to := Square(s[3]-'1')*8 + Square(s[2]-'a')
	return p.find(from, to, promotion)
}

// find returns the legal move with these squares and this promotion, or ErrIllegal.
func (p Position) find(from, to Square, promotion Kind) (Move, error) {
	var buf [32]Move
	for _, m := range p.LegalFrom(buf[:0], from) {
		if m.To() == to && m.Promotion() == promotion {
			return m, nil
		}
	}
	return 0, ErrIllegal
}
