package chess

import (
	"math/bits"
	"strconv"
)

// MaxFEN is the length in bytes of the longest FEN. ParseFEN refuses longer text without
// reading it.
const MaxFEN = 71 + len(" w KQkq e3 9999 9999")

// ParseFEN reads a position in Forsyth–Edwards notation: all six fields, separated by single
// spaces. Castling rights may be KQkq, where the letter means the outermost rook of that side
// (X-FEN), or the files of the rooks (Shredder-FEN). A position that breaks the rules gives a
// *ParseError:
//
//   - not exactly one king on each side, pawns on the first or last rank,
//     more than 8 pawns of a side, more promoted pieces than missing pawns;
//   - the side that has just moved is in check;
//   - a castling right without its king and rook on the back rank;
//   - an en passant square over which no pawn can just have passed;
//   - counters outside 0 … 9999 and 1 … 9999, or with leading zeros.
func ParseFEN(fen string) (Position, error) {
	if len(fen) > MaxFEN {
		return Position{}, parseErrorf(MaxFEN, "a FEN has at most %d bytes, this one has %d", MaxFEN, len(fen))
	}
	r := fenReader{text: fen}
	r.placement()
	r.expectSpace("the side to move")
	r.side()
	r.expectSpace("castling rights")
	r.material()
	r.castling()
	r.expectSpace("the en passant square")
	r.enPassant()
	r.expectSpace("the half-move clock")
	halfmoves := r.counter("half-move clock", 0)
	r.expectSpace("the full-move number")
	fullmoves := r.counter("full-move number", 1)
	if r.err == nil && r.at < len(fen) {
		r.failf("nothing may follow the full-move number")
	}
	if r.err != nil {
		return Position{}, r.err
	}
	p := Position{
		board: r.white, halfmoves: halfmoves, fullmoves: fullmoves,
		epFile: r.epFile, turn: r.turn, chess960: r.chess960 && r.white.castlers() != 0,
	}
	if p.turn == Black {
		p.board = p.board.turned()
	}
	return p, nil
}

// fenReader reads field after field. After the first error its methods do nothing.
type fenReader struct {
	text     string
	at       int
	err      error
	white    board // as White sees it
	turn     Color
	epFile   uint8
	chess960 bool
}

func (r *fenReader) failf(format string, args ...any) { r.failAt(r.at, format, args...) }

func (r *fenReader) failAt(offset int, format string, args ...any) {
	if r.err == nil {
		r.err = parseErrorf(offset, format, args...)
	}
}

// peek returns the next byte, or 0 at the end and after an error.
func (r *fenReader) peek() byte {
	if r.err != nil || r.at >= len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *fenReader) expectSpace(before string) {
	if r.peek() != ' ' {
		r.failf("one space and %s must follow", before)
	}
	r.at++
}

// placement reads the first field into white.
func (r *fenReader) placement() {
	if b, n, ok := quickPlacement(r.text); ok {
		r.white, r.at = b, n
		return
	}
	for rank := 7; rank >= 0 && r.err == nil; rank-- {
		r.rank(rank)
		if rank > 0 {
			if r.peek() != '/' {
				r.failf("rank %d must end here with '/'", rank+1)
			}
			r.at++
		}
	}
}

func (r *fenReader) rank(rank int) {
	digit := false
	for file := 0; file < 8 && r.err == nil; r.at++ {
		c := r.peek()
		kind := kindOf(c)
		switch {
		case c >= '1' && c <= '8':
			if digit {
				r.failf("two digits in a row")
			}
			if file += int(c - '0'); file > 8 {
				r.failf("rank %d has more than 8 squares", rank+1)
			}
			digit = true
			continue
		case kind == None:
			r.failf("rank %d has %d of 8 squares; a piece or a digit must follow", rank+1, file)
		case kind == Pawn && (rank == 0 || rank == 7):
			r.failf("a pawn cannot stand on rank %d", rank+1)
		}
		r.white.put(1<<(rank*8+file), codeOfKind[kind], c < 'a')
		digit = false
		file++
	}
}

func (r *fenReader) side() {
	switch r.peek() {
	case 'w':
		r.turn = White
	case 'b':
		r.turn = Black
	default:
		r.failf("the side to move is w or b")
	}
	r.at++
}

// material checks the number of kings, pawns and promoted pieces, and that the side which has
// just moved is not in check. Its errors have the offset 0.
func (r *fenReader) material() {
	if r.err != nil {
		return
	}
	for color, own := range [2]uint64{r.white.own, r.white.occupied() &^ r.white.own} {
		side := Color(color)
		if n := bits.OnesCount64(r.white.kings() & own); n != 1 {
			r.failAt(0, "%s has %d kings", side, n)
			return
		}
		pawns := bits.OnesCount64(r.white.pawns() & own)
		if pawns > 8 {
			r.failAt(0, "%s has %d pawns", side, pawns)
		}
		promoted := max(0, bits.OnesCount64(r.white.knights()&own)-2)
		queens := r.white.diagonal() & r.white.straight() & own
		promoted += max(0, bits.OnesCount64(queens)-1)
		promoted += max(0, bits.OnesCount64(r.white.straight()&own&^queens)-2)
		bishops := r.white.diagonal() & own &^ queens
		promoted += max(0, bits.OnesCount64(bishops&darkSquares)-1) + max(0, bits.OnesCount64(bishops&^darkSquares)-1)
		if pawns+promoted > 8 {
			r.failAt(0, "%s has %d pawns and at least %d promoted pieces", side, pawns, promoted)
		}
	}
	waiting := r.white
	if r.turn == White {
		waiting = waiting.turned()
	}
	if waiting.attackers(waiting.king(), waiting.occupied()) != 0 {
		r.failAt(0, "%s is in check although %s is to move", r.turn.Other(), r.turn)
	}
}

// enPassant reads the fifth field and checks it against the board.
func (r *fenReader) enPassant() {
	if r.peek() == '-' {
		r.at++
		return
	}
	if r.err != nil {
		return
	}
	start := r.at
	square, err := ParseSquare(r.text[start:min(start+2, len(r.text))])
	if err != nil {
		r.failf("the en passant square is '-' or a square")
		return
	}
	b, rank := r.white, square.Rank()
	if r.turn == Black {
		b = b.turned()
		rank = 7 - rank
	}
	target := uint64(1) << 40 << square.File()
	switch {
	case rank != 5:
		r.failf("no double step of %s passes over %s", r.turn.Other(), square)
	case b.pawns()&^b.own&(target>>8) == 0:
		r.failf("no pawn of %s has just passed over %s", r.turn.Other(), square)
	case b.occupied()&(target|target<<8) != 0:
		r.failf("a pawn cannot have passed over %s: its way is not empty", square)
	}
	r.epFile = uint8(square.File() + 1)
	r.at += 2
}

// counter reads a number from least to maxCounter without leading zeros.
func (r *fenReader) counter(name string, least int) uint16 {
	if r.err != nil {
		return 0
	}
	start := r.at
	n := 0
	for c := r.peek(); c >= '0' && c <= '9' && n <= maxCounter; c = r.peek() {
		n = n*10 + int(c-'0')
		r.at++
	}
	switch {
	case r.at == start:
		r.failf("the %s must follow", name)
	case n < least || n > maxCounter:
		r.failAt(start, "the %s is from %d to %d", name, least, maxCounter)
	case r.text[start] == '0' && r.at > start+1:
		r.failAt(start, "the %s has a leading zero", name)
	}
	return uint16(n)
}

// FEN returns the position in Forsyth–Edwards notation. Castling rights are KQkq on classical
// boards and the files of the rooks on Chess960 boards. The en passant square is written after
// every double step.
func (p Position) FEN() string {
	var buf [MaxFEN]byte
	return string(p.AppendFEN(buf[:0]))
}

// String returns the same as FEN.
func (p Position) String() string { return p.FEN() }

// AppendFEN appends what FEN returns to dst, at most MaxFEN bytes.
func (p *Position) AppendFEN(dst []byte) []byte { return p.AppendState(p.AppendPlacement(dst)) }

// AppendPlacement appends the first field of the FEN: the pieces.
func (p *Position) AppendPlacement(dst []byte) []byte {
	return p.board.white(p.turn).appendPlacement(dst)
}

// AppendState appends the other five fields of the FEN, with the space before
// each.
func (p *Position) AppendState(dst []byte) []byte {
	dst = append(dst, ' ', "wb"[p.turn&1], ' ')
	dst = appendCastling(dst, p.board.white(p.turn), p.chess960)
	dst = append(dst, ' ')
	if s := epSquare(p.epFile, p.turn); s.Valid() {
		dst = s.append(dst)
	} else {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(append(dst, ' '), uint64(p.halfmoves), 10)
	return strconv.AppendUint(append(dst, ' '), uint64(p.fullmoves), 10)
}

// placementBytes has the byte for the code of a piece, plus 8 for White; from 16 on, for a run
// of 0 and more empty squares.
const placementBytes = ".brqpnkr.BRQPNKR.12345678......."

// runs is indexed by the set of empty files of a rank. It has a byte for each file: where a run
// of empty squares begins, 16 plus its length, otherwise 0.
var runs = func() (runs [256]uint64) {
	for set := range runs {
		for file := 0; file < 8; file++ {
			if n := bits.TrailingZeros(^uint(set >> file)); n > 0 {
				runs[set] |= uint64(16+n) << (8 * file)
				file += n
			}
		}
	}
	return runs
}()

// appendPlacement appends the first field of a FEN. The board must be seen by White.
func (b board) appendPlacement(dst []byte) []byte {
	var text [128]byte
	n := 0
	for rank := 56; rank >= 0; rank -= 8 {
		p0, p1, p2, own := b.p0>>rank, b.p1>>rank, b.p2>>rank, b.own>>rank
		gaps := ^(p0 | p1 | p2) & 255
		n = writeRank(&text, n, spread(p0)|spread(p1)<<1|spread(p2)<<2|spread(own)<<3|runs[gaps], gaps&(gaps<<1))
	}
	return append(dst, text[:(n-1)&127]...)
}

// writeRank writes a rank and a slash at text[n] and returns where the next rank begins. codes
// has a byte for each square; inside has a bit for each square of a run of empty ones but its
// first. The code does not branch on a square, because branches on pieces cannot be predicted:
// the next byte overwrites each byte inside a run.
func writeRank(text *[128]byte, n int, codes, inside uint64) int {
	for range 8 {
		text[n&127] = placementBytes[codes&31]
		n += int(1 - inside&1)
		codes, inside = codes>>8, inside>>1
	}
	text[n&127] = '/'
	return n + 1
}

// spread returns the lowest eight bits of x, each in a byte of its own.
func spread(x uint64) uint64 {
	x = (x & 0xff) * 0x0101010101010101 & 0x8040201008040201
	return (x + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101
}
