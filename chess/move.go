package chess

// Move is one move: its two squares as UCI writes them, and its kind. Moves come from a
// Position (LegalMoves, LegalFrom, ParseUCI, ParseSAN) and are valid only in it. Two moves of
// one position are the same move exactly if they are equal. The zero Move is no move.
//
//	bits 0–5   from
//	bits 6–11  to; of castling, the king's target on a classical board and
//	           the rook's square on a Chess960 board
//	bits 12–14 kind of move (see below)
type Move uint16

// The kinds of moves. A promotion is promotes + the index of the piece in knight, bishop, rook,
// queen, so that one bit marks all promotions.
const (
	ordinary   = 0
	doublePush = 1 // a pawn's first move by two ranks
	castling   = 2
	enPassant  = 3
	promotes   = 4
)

// mirrorMove is xored to a move to mirror its two squares: from the board as White sees it to
// the board as Black sees it, and back.
const mirrorMove Move = 56 | 56<<6

// From returns the square that the piece leaves.
func (m Move) From() Square { return Square(m & 63) }

// To returns the target square as in UCI: for castling on a Chess960 board, the square of the
// own rook.
func (m Move) To() Square { return Square(m >> 6 & 63) }

// Promotion returns the kind that the pawn promotes to, or None.
func (m Move) Promotion() Kind {
	if m.special()&promotes == 0 {
		return None
	}
	return Knight + Kind(m.special()-promotes)
}

// Castling reports whether the move castles, in either notation.
func (m Move) Castling() bool { return m.special() == castling }

// EnPassant reports whether the move captures en passant.
func (m Move) EnPassant() bool { return m.special() == enPassant }

func (m Move) special() uint { return uint(m >> 12 & 7) }

// String returns the move as in UCI ("e2e4", "a7a8q"), or "0000" for no move.
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
