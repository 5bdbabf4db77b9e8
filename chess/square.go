package chess

// Square is one of the 64 squares: a1 = 0, b1 = 1, … h8 = 63.
type Square uint8

// NoSquare is the en passant square of a position without one.
const NoSquare Square = 64

// SquareAt returns the square at the given file (a = 0 … h = 7) and rank (0 … 7), or NoSquare
// if either is outside the board.
func SquareAt(file, rank int) Square {
	if uint(file) > 7 || uint(rank) > 7 {
		return NoSquare
	}
	return Square(rank*8 + file)
}

// ParseSquare reads a square such as "e4". The error is a *ParseError.
func ParseSquare(s string) (Square, error) {
	if len(s) != 2 {
		return NoSquare, parseErrorf(min(len(s), 2), "a square has 2 characters, this one has %d", len(s))
	}
	if s[0] < 'a' || s[0] > 'h' {
		return NoSquare, parseErrorf(0, "a file is one of a–h")
	}
	if s[1] < '1' || s[1] > '8' {
		return NoSquare, parseErrorf(1, "a rank is one of 1–8")
	}
	return Square(s[1]-'1')*8 + Square(s[0]-'a'), nil
}

// File returns 0 for the a-file … 7 for the h-file.
func (s Square) File() int { return int(s & 7) }

// Rank returns 0 for the first rank … 7 for the eighth.
func (s Square) Rank() int { return int(s >> 3) }

// Valid reports whether s is one of the 64 squares.
func (s Square) Valid() bool { return s < NoSquare }

// String returns "a1" … "h8", or "-" for NoSquare.
func (s Square) String() string {
	if !s.Valid() {
		return "-"
	}
	return string(s.append(nil))
}

func (s Square) append(dst []byte) []byte {
	return append(dst, 'a'+byte(s&7), '1'+byte(s>>3))
}
