package chess

// Move is one move, complete in itself: its two squares as UCI writes them,
// and what is special about it. Moves are made by a Position (LegalMoves,
// ParseUCI, ParseSAN) and mean something only there. Two moves of one
// position are the same move exactly when they are equal. The zero Move is
// no move.
//
//	bits 0–5   from
//	bits 6–11  to; of castling, the king's target on a classical board and
//	           the rook's square on a Chess960 board
//	bits 12–14 what is special (see below)
type Move uint16

// What is special about a move. Promotions are promotes + the index of the
// piece in knight, bishop, rook, queen, so that one bit tells them.
const (
	ordinary   = 0
	doublePush = 1 // a pawn's first move by two ranks
	castling   = 2
	enPassant  = 3
	promotes   = 4
)

// mirrorMove flips both squares of a move between the board as it is and the
// board as the side to move sees it.
const mirrorMove Move = 56 | 56<<6

// From returns the square that the piece leaves.
func (m Move) From() Square { return Square(m & 63) }

// To returns the target square in UCI: castling on a Chess960 board goes "to"
// the own rook.
func (m Move) To() Square { return Square(m >> 6 & 63) }

// Promotion returns the kind that a pawn becomes, or None.
func (m Move) Promotion() Kind {
	if m.special()&promotes == 0 {
		return None
	}
	return Knight + Kind(m.special()-promotes)
}

// Castling reports whether the move castles, in either notation.
func (m Move) Castling() bool { return m.special() == castling }

// EnPassant reports whether the move takes a pawn in passing.
func (m Move) EnPassant() bool { return m.special() == enPassant }

func (m Move) special() uint { return uint(m >> 12 & 7) }

// String returns the move in UCI ("e2e4", "a7a8q"), or "0000" for no move.
func (m Move) String() string { return string(m.AppendUCI(nil)) }

// AppendUCI appends what String returns to dst.
func (m Move) AppendUCI(dst []byte) []byte {
	if m == 0 {
		return append(dst, "0000"...)
	}
	dst = m.To().append(m.From().append(dst))
	if kind := m.Promotion(); kind != None {
		dst = append(dst, kind.Letter())
	}
	return dst
}
