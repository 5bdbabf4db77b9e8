package chess

// Color is a side of the game.
type Color uint8

// The two sides.
const (
	White Color = iota
	Black
)

// Other returns the opponent of c.
func (c Color) Other() Color { return c ^ 1 }

// String returns "white" or "black".
func (c Color) String() string {
	if c == White {
		return "white"
	}
	return "black"
}

// Kind is a kind of piece, without its colour.
type Kind uint8

// The kinds. None is the kind of an empty square, and of the promotion of a move that does not
// promote.
const (
	None Kind = iota
	Pawn
	Knight
	Bishop
	Rook
	Queen
	King
)

// Piece is a kind and a colour. The zero Piece is an empty square.
type Piece struct {
	Kind  Kind
	Color Color
}

const (
	kindLetters  = ".pnbrqk"
	whiteLetters = ".PNBRQK"
)

// Letter returns the lower-case English letter of k, or '.' for None.
func (k Kind) Letter() byte {
	if int(k) >= len(kindLetters) {
		return '.'
	}
	return kindLetters[k]
}

// kindOf is the inverse of Letter for lower and upper case. It returns None for any other
// letter.
func kindOf(letter byte) Kind {
	switch letter | 0x20 {
	case 'p':
		return Pawn
	case 'n':
		return Knight
	case 'b':
		return Bishop
	case 'r':
		return Rook
	case 'q':
		return Queen
	case 'k':
		return King
	}
	return None
}

// Letter returns the FEN letter of p: upper case for White, '.' for an empty
// square.
func (p Piece) Letter() byte {
	if p.Color == White && int(p.Kind) < len(whiteLetters) {
		return whiteLetters[p.Kind]
	}
	return p.Kind.Letter()
}

// String returns the same as Letter, as a string.
func (p Piece) String() string { return string(rune(p.Letter())) }
