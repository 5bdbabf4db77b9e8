package chess

import "math/bits"

// Position has everything that the rules need to know at one moment of a game, except earlier
// positions (see History). It is a comparable value of 40 bytes without pointers: it can be
// copied, compared with == and used as a map key. The zero Position is an empty board without
// legal moves; Start, Chess960, ParseFEN and Unpack return others.
//
// Every Position of this package obeys the rules listed at ParseFEN.
//
// Methods that are called right after a move have a pointer receiver, because copying fields
// that have only just been stored waits for the stores.
type Position struct {
	board     board
	halfmoves uint16 // since the last capture or pawn move, 0 … maxCounter
	fullmoves uint16 // number of the next move, 1 … maxCounter
	epFile    uint8  // file + 1 of the pawn that has just made a double step, or 0
	turn      Color
	// chess960 is set while castling is possible and is written as king takes rook. It is false
	// as soon as neither side may castle any more.
	chess960 bool
}

// maxCounter is the bound of both counters of a position; they are not increased beyond it.
const maxCounter = 9999

// MaxMoves is a bound of the number of legal moves of a position that ParseFEN accepts and that
// a game can reach. The most known are 218.
const MaxMoves = 256

// Start returns the initial position of classical chess.
func Start() Position {
	return Position{
		board: board{
			p0:  0xef000000000000ef,
			p1:  0x9900000000000099,
			p2:  0xd3ff00000000ffd3,
			own: rank1 | rank2,
		},
		fullmoves: 1,
	}
}

// StartFEN is the initial position of classical chess.
const StartFEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

// Turn returns the side to move.
func (p *Position) Turn() Color { return p.turn }

// HalfmoveClock returns the number of moves by either side since the last
// capture or pawn move, at most 9999.
func (p *Position) HalfmoveClock() int { return int(p.halfmoves) }

// FullmoveNumber returns the number of the next move: 1 at the start, one more after each move
// of Black, at most 9999.
func (p *Position) FullmoveNumber() int { return int(p.fullmoves) }

// Ply returns how many moves both sides have made since the start, computed from the full-move
// number: 0 at the start, 1 after the first move.
func (p *Position) Ply() int { return (int(p.fullmoves)-1)*2 + int(p.turn) }

// EnPassant returns the square that a pawn has just passed over by a double step, also if no
// pawn can capture there; otherwise NoSquare.
func (p Position) EnPassant() Square { return epSquare(p.epFile, p.turn) }

func epSquare(epFile uint8, turn Color) Square {
	if epFile == 0 {
		return NoSquare
	}
	return Square(epFile-1) + 40 ^ turn.mirror()
}

// Chess960 reports whether castling is possible and written as king takes
// rook.
func (p Position) Chess960() bool { return p.chess960 }

// PieceAt returns the piece on s, or the zero Piece if s is empty or not valid.
func (p Position) PieceAt(s Square) Piece {
	if !s.Valid() {
		return Piece{}
	}
	s ^= p.turn.mirror()
	code := p.board.code(uint(s))
	if code == 0 {
		return Piece{}
	}
	if p.board.own>>s&1 != 0 {
		return Piece{kindOfCode[code], p.turn}
	}
	return Piece{kindOfCode[code], p.turn.Other()}
}

// InCheck reports whether the side to move is in check.
func (p Position) InCheck() bool {
	return p.board.attackers(p.board.king(), p.board.occupied()) != 0
}

// The next five functions take a field or two instead of a Position. Fields stay in registers;
// the 40 bytes of a Position would be copied through memory, which waits for the stores of the
// move before.

// mirror is xored to a square to change between the board as it is and the board as the side to
// move sees it.
func (c Color) mirror() Square { return Square(c&1) * 56 }

// mirrorMove is mirror for both squares of a move.
func (c Color) mirrorMove() Move { return mirrorMove & -Move(c&1) }

// epSet returns the set of the en passant square as the side to move sees it, or the empty set.
func epSet(epFile uint8) uint64 {
	if epFile == 0 {
		return 0
	}
	return 1 << (39 + epFile&15)
}

// epFileOf is the inverse of epSet.
func epFileOf(epSet uint64) uint8 {
	return uint8(bits.Len64(epSet >> 40))
}

// white returns the board as White sees it. turn is the side that b is seen by.
func (b board) white(turn Color) board {
	if turn == White {
		return b
	}
	return b.turned()
}

// LegalMoves appends all legal moves to dst and returns it. With room for
// MaxMoves it does not allocate:
//
//	var buf [chess.MaxMoves]chess.Move
//	moves := p.LegalMoves(buf[:0])
func (p Position) LegalMoves(dst []Move) []Move { return p.legal(dst, ^uint64(0)) }

// LegalFrom appends the legal moves of the piece on s to dst and returns it. It appends nothing
// if s is not valid or has no piece of the side to move.
func (p Position) LegalFrom(dst []Move, s Square) []Move {
	if !s.Valid() {
		return dst
	}
	return p.legal(dst, 1<<(s^p.turn.mirror()))
}

func (p Position) legal(dst []Move, from uint64) []Move {
	if p.board.kings() == 0 {
		return dst
	}
	first := len(dst)
	dst = p.board.generate(dst, epSet(p.epFile), from, p.chess960)
	if mirror := p.turn.mirrorMove(); mirror != 0 {
		for i := first; i < len(dst); i++ {
			dst[i] ^= mirror
		}
	}
	return dst
}

// CountLegal returns the number of legal moves, without making a list of them.
func (p Position) CountLegal() int {
	if p.board.kings() == 0 {
		return 0
	}
	return p.board.count(epSet(p.epFile))
}

// IsLegal reports whether m is a legal move of p.
func (p Position) IsLegal(m Move) bool {
	var buf [MaxMoves]Move
	for _, legal := range p.LegalFrom(buf[:0], m.From()) {
		if legal == m {
			return true
		}
	}
	return false
}

// Play returns the position after m, which must be a legal move of p: one that LegalMoves,
// LegalFrom, ParseUCI or ParseSAN has returned for this same position. For any other value
// check IsLegal first: after an illegal move the result is undefined.
func (p Position) Play(m Move) Position {
	p.Apply(m)
	return p
}

// Apply changes p to what Play returns.
func (p *Position) Apply(m Move) {
	m ^= p.turn.mirrorMove()
	next, epSet := p.board.after(m)
	from, to := uint64(1)<<(m&63), uint64(1)<<(m>>6&63)
	p.halfmoves = min(p.halfmoves+1, maxCounter)
	if p.board.pawns()&from != 0 || p.board.occupied()&^p.board.own&to != 0 {
		p.halfmoves = 0
	}
	p.board = next
	p.fullmoves = min(p.fullmoves+uint16(p.turn), maxCounter)
	p.epFile = epFileOf(epSet)
	p.turn ^= 1
	p.chess960 = p.chess960 && next.castlers() != 0
}
