package wire

import "encoding/binary"

// UCI is a move in UCI notation, e.g. e2e4 or e7e8q: at most 6 bytes, which are not checked
// further.
type UCI struct {
	// text has the length in the lowest byte, followed by the characters: one word, which is
	// cheap to copy.
	text uint64
}

const maxUCI = 6

var errUCI = tooLong("a move has at most 6 bytes")

// MakeUCI returns s as a UCI. Errors: ErrTooLong.
func MakeUCI[S ~string | ~[]byte](s S) (UCI, error) {
	var u UCI
	if len(s) > maxUCI {
		return u, errUCI
	}
	u.text = uint64(len(s))
	for i := range len(s) {
		u.text |= uint64(s[i]) << (8*i + 8)
	}
	return u, nil
}

// bytes returns the length and the characters, padded with zeros.
func (u UCI) bytes() (b [1 + maxUCI + 1]byte) {
	binary.LittleEndian.PutUint64(b[:], u.text)
	return b
}

// String returns the move's text.
func (u UCI) String() string {
	b := u.bytes()
	return string(b[1 : 1+u.Len()])
}

// Append appends the move's text to dst.
func (u UCI) Append(dst []byte) []byte {
	b := u.bytes()
	return append(dst, b[1:1+u.Len()]...)
}

// Len returns the length of the move's text.
func (u UCI) Len() int { return int(u.text & 7) }

// MarshalJSON writes the text as Text does.
func (u UCI) MarshalJSON() ([]byte, error) { return Text(u.Append(nil)).MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON writes.
func (u *UCI) UnmarshalJSON(b []byte) error {
	var t Text
	if err := t.UnmarshalJSON(b); err != nil {
		return err
	}
	v, err := MakeUCI(t)
	*u = v
	return err
}

// PlayerMove plays a move on the header's board.
//
//	0  1  n, at most 6
//	1  n  UCI
//	      bytes after it are ignored
type PlayerMove struct {
	UCI UCI `json:"uci"`
}

func (m PlayerMove) append(dst []byte) ([]byte, error) {
	return m.UCI.Append(append(dst, byte(m.UCI.Len()))), nil
}

var (
	errNoMove   = truncated("no length of the move")
	errLongUCI  = invalid("a move has at most 6 bytes")
	errShortUCI = invalid("move is longer than its payload")
)

func (m *PlayerMove) decode(base []byte) ([]byte, error) {
	if len(base) == 0 {
		return nil, errNoMove
	}
	n := int(base[0])
	if n > maxUCI {
		return nil, errLongUCI
	}
	if n > len(base)-1 {
		return nil, errShortUCI
	}
	m.UCI, _ = MakeUCI(base[1 : 1+n])
	return base[1+n:], nil
}

// BoardUpdate tells a player which board they hold now: the answer of a move,
// and the push when a reservation has timed out.
//
//	0  n  FEN: placement and side to move
type BoardUpdate struct {
	FEN Text `json:"fen"`
}

func (m BoardUpdate) append(dst []byte) ([]byte, error)   { return appendText(dst, m.FEN) }
func (m *BoardUpdate) decode(base []byte) ([]byte, error) { return decodeText(&m.FEN, base) }

// GetLegalMoves asks for the moves of the piece on a square of the header's
// board: 0 is a1, 7 is h1, 63 is h8.
//
//	0  1  square
//	      bytes after it are ignored
type GetLegalMoves struct {
	Square uint8 `json:"square"`
}

func (m GetLegalMoves) append(dst []byte) ([]byte, error) { return append(dst, m.Square), nil }

var errNoSquare = truncated("no square")

func (m *GetLegalMoves) decode(base []byte) ([]byte, error) {
	if len(base) == 0 {
		return nil, errNoSquare
	}
	m.Square = base[0]
	return base[1:], nil
}

// MaxLegalMoves is the largest number of legal moves of a position.
const MaxLegalMoves = 218

// LegalMove is one row of LegalMoves.
//
//	0  1  from square
//	1  1  to square
//	2  1  promotion: 'q', 'r', 'b', 'n', or 0
type LegalMove struct {
	From      uint8 `json:"from"`
	To        uint8 `json:"to"`
	Promotion uint8 `json:"promotion"`
}

// LegalMoves answers GetLegalMoves.
//
//	0   1  square
//	1   1  n, at most 218
//	2  3n  LegalMove
//	       bytes after it are ignored
type LegalMoves struct {
	Square uint8       `json:"square"`
	Moves  []LegalMove `json:"moves"`
}

var (
	errManyMoves  = tooLong("a position has at most 218 moves")
	errMoveCount  = invalid("a position has at most 218 moves")
	errNoMoves    = truncated("no square and count of the moves")
	errShortMoves = truncated("fewer moves than their count says")
)

func (m LegalMoves) append(dst []byte) ([]byte, error) {
	if len(m.Moves) > MaxLegalMoves {
		return dst, errManyMoves
	}
	dst = append(dst, m.Square, byte(len(m.Moves)))
	for _, v := range m.Moves {
		dst = append(dst, v.From, v.To, v.Promotion)
	}
	return dst, nil
}

func (m *LegalMoves) decode(base []byte) ([]byte, error) {
	if len(base) < 2 {
		return nil, errNoMoves
	}
	n := int(base[1])
	if n > MaxLegalMoves {
		return nil, errMoveCount
	}
	m.Square, m.Moves = base[0], emptied(m.Moves)
	base = base[2:]
	if len(base) < 3*n {
		return nil, errShortMoves
	}
	for range n {
		m.Moves = append(m.Moves, LegalMove{From: base[0], To: base[1], Promotion: base[2]})
		base = base[3:]
	}
	return base, nil
}
