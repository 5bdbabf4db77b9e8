package chess

import (
	"encoding/binary"
	"math/bits"
)

// PackedSize is the number of bytes of a packed position.
const PackedSize = 38

// AppendPacked appends the position in PackedSize bytes for Unpack, in a tenth of the time of a
// FEN. All numbers are little-endian:
//
//	three planes of piece codes, own pieces   8 bytes each, seen by the side to move
//	half-move clock, full-move number         2 bytes each
//	file of a double step + 1, or 0           1 byte
//	side to move, and 2 if Chess960           1 byte
func (p Position) AppendPacked(dst []byte) []byte {
	w := binary.LittleEndian
	for _, plane := range [...]uint64{p.board.p0, p.board.p1, p.board.p2, p.board.own} {
		dst = w.AppendUint64(dst, plane)
	}
	flags := byte(p.turn)
	if p.chess960 {
		flags |= 2
	}
	return append(w.AppendUint16(w.AppendUint16(dst, p.halfmoves), p.fullmoves), p.epFile, flags)
}

// Unpack returns the position that AppendPacked wrote. It returns false for bytes of another
// length and for a position that breaks the rules listed at ParseFEN.
func Unpack(b []byte) (Position, bool) {
	if len(b) != PackedSize || b[37] > 3 {
		return Position{}, false
	}
	r := binary.LittleEndian
	p := Position{
		board:     board{p0: r.Uint64(b), p1: r.Uint64(b[8:]), p2: r.Uint64(b[16:]), own: r.Uint64(b[24:])},
		halfmoves: r.Uint16(b[32:]), fullmoves: r.Uint16(b[34:]), epFile: b[36],
		turn: Color(b[37] & 1), chess960: b[37]&2 != 0,
	}
	switch {
	case p.board.own&^p.board.occupied() != 0 || p.board.pawns()&(rank1|rank8) != 0:
		return Position{}, false
	case p.halfmoves > maxCounter || p.fullmoves < 1 || p.fullmoves > maxCounter:
		return Position{}, false
	}
	material := fenReader{white: p.board.white(p.turn), turn: p.turn}
	material.material()
	if material.err != nil || !p.castlersFit() || !p.epFits() {
		return Position{}, false
	}
	return p, true
}

// castlersFit reports whether every rook that may castle is on the back rank with its king, at
// most one on each side of it, and on a classical board the king on its file and the rooks in
// the corners.
func (p Position) castlersFit() bool {
	b := p.board
	if b.castlers() == 0 {
		return !p.chess960
	}
	for _, side := range [2]struct{ own, home uint64 }{{b.own, rank1}, {b.occupied() &^ b.own, rank8}} {
		rooks, king := b.castlers()&side.own, b.kings()&side.own
		if rooks == 0 {
			continue
		}
		left, right := rooks&(king-1), rooks&^(king-1)
		switch {
		case (rooks|king)&^side.home != 0 || bits.OnesCount64(left) > 1 || bits.OnesCount64(right) > 1:
			return false
		case !p.chess960 && (king&(fileA<<4) == 0 || left&^fileA != 0 || right&^fileH != 0):
			return false
		}
	}
	return true
}

// epFits reports whether a pawn can just have made the double step that epFile records.
func (p Position) epFits() bool {
	if p.epFile == 0 {
		return true
	}
	if p.epFile > 8 {
		return false
	}
	target := epSet(p.epFile)
	return p.board.pawns()&^p.board.own&(target>>8) != 0 && p.board.occupied()&(target|target<<8) == 0
}
