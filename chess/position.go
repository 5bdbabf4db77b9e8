package chess

import "math/bits"

// Position is everything that the rules need to know about one moment of a
// game, except earlier positions (see History). It is a comparable value of
// 40 bytes without pointers: copy it, compare it with ==, use it as a map
// key. The zero Position is an empty board on which nothing can be done; get
// one from Start, Chess960 or ParseFEN.
//
// Every Position made by this package obeys the rules named at ParseFEN.
//
// Methods that are called right after a move take a pointer: a copy of fields
// that were only just stored waits for the stores.
type Position struct {
	board     board
	halfmoves uint16 // since the last capture or pawn move, 0 … maxCounter
	fullmoves uint16 // number of the next move, 1 … maxCounter
	epFile    uint8  // file + 1 of the pawn that just made a double step, or 0
	turn      Color
	// chess960 is set while castling is possible and written as king takes
	// rook; it is false as soon as nobody may castle any more.
	chess960 bool
}

// maxCounter bounds both counters of a position; they stop there.
const maxCounter = 9999

// MaxMoves is enough room for the legal moves of any position that ParseFEN
// accepts and that a game can reach (where the most known are 218).
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

// FullmoveNumber returns the number of the next move: 1 at the start, one
// more after each move by Black, at most 9999.
func (p *Position) FullmoveNumber() int { return int(p.fullmoves) }

// Ply returns how many moves either side has made since the start, as the
// full-move number tells it: 0 at the start, 1 after the first move.
func (p *Position) Ply() int { return (int(p.fullmoves)-1)*2 + int(p.turn) }

// EnPassant returns the square behind a pawn that has just made a double
// step, whether or not it can be taken there; otherwise NoSquare.
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

// PieceAt returns the piece on s; the zero Piece if s is empty or no square.
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

// The next five take a field or two and not the position: those stay in
// registers, but the position's 40 bytes would be copied through memory, which
// waits for the stores of the move before.

// mirror is xored to a square to get from the board as it is to the board as
// the side to move sees it, and back.
func (c Color) mirror() Square { return Square(c&1) * 56 }

// mirrorMove is mirror for both squares of a move.
func (c Color) mirrorMove() Move { return mirrorMove & -Move(c&1) }

// epSet returns the en passant square as a set, seen by the side to move.
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

// white returns a board of the side to move as White sees it.
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

// LegalFrom appends the legal moves of the piece on s to dst and returns it;
// there are none if s is no square or holds no piece of the side to move.
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

// CountLegal returns the number of legal moves without naming them.
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

// Play returns the position after m, which must be a legal move of p: one
// from LegalMoves, LegalFrom, ParseUCI or ParseSAN of this very position. (For
// any other value ask IsLegal first; the result of an illegal move is not a
// position of chess.)
func (p Position) Play(m Move) Position {
	p.Apply(m)
	return p
}

// Apply is Play on p itself.
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
