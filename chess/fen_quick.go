package chess

import "encoding/binary"

// fenBytes has for each byte of a placement: in bits 0–3 the number of squares it takes, in
// bits 4–7 the code of its piece, plus 8 for White, and in one of bits 8–10 whether it is a
// slash, a digit or wrong.
const (
	fenSlash = 1 << (8 + iota)
	fenDigit
	fenWrong
)

var fenBytes = func() (t [256]uint16) {
	for c := range t {
		kind := kindOf(byte(c))
		switch {
		case kind != None && c < 'a':
			t[c] = 1 | uint16(codeOfKind[kind]|8)<<4
		case kind != None:
			t[c] = 1 | uint16(codeOfKind[kind])<<4
		case c >= '1' && c <= '8':
			t[c] = uint16(c-'0') | fenDigit
		case c == '/':
			t[c] = fenSlash
		default:
			t[c] = fenWrong
		}
	}
	return t
}()

// quickPlacement reads the first field of a FEN and returns where it ends. If ok is false, the
// field has an error, and the caller reads it again with fenReader.rank to describe the error.
// It does not branch on the bytes, because such branches cannot be predicted; errors are
// collected in wrong.
func quickPlacement(text string) (b board, end int, ok bool) {
	var cells [64]uint8                 // codes, from a8 to h1
	square, slashes := uint(0), uint(0) // so far
	before, wrong := uint(0), uint(0)
	for end < len(text) && text[end] != ' ' {
		what := uint(fenBytes[text[end]])
		slash := what / fenSlash & 1
		// After every eight squares there is a slash, except at the end.
		wrong |= (what | before&what&fenDigit<<1) & fenWrong
		wrong |= square>>3 ^ (slashes + slash)
		wrong |= (square & 7 & -slash) | (square&7+what&15-1)>>3&^-slash
		cells[square&63] |= uint8(what >> 4)
		square += what & 15
		slashes += slash
		before = what
		end++
	}
	for rank := range 8 {
		row := binary.LittleEndian.Uint64(cells[8*rank:])
		at := 56 - 8*rank
		b.p0 |= gather(row) << at
		b.p1 |= gather(row>>1) << at
		b.p2 |= gather(row>>2) << at
		b.own |= gather(row>>3) << at
	}
	return b, end, wrong == 0 && square == 64 && slashes == 7 && b.pawns()&(rank1|rank8) == 0
}

// gather returns the lowest bit of each of the eight bytes; it is the inverse of spread.
func gather(x uint64) uint64 { return x & 0x0101010101010101 * 0x0102040810204080 >> 56 }
