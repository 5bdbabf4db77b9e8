package chess

import "encoding/binary"

// What a byte of a placement means: how many squares it takes, in the lowest
// four bits; the code of its piece, plus 8 for White, in the next four; and what
// it is if it is no piece.
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

// quickPlacement reads the first field of a FEN up to its space, if nothing is
// wrong with it, and returns where the space is. Whoever is told that something
// is wrong reads it again, slowly, to say what. Which byte comes next cannot be
// predicted, so nothing branches on it; errors are collected.
func quickPlacement(text string) (b board, end int, ok bool) {
	var cells [64]uint8                 // codes, from a8 to h1, as they are written
	square, slashes := uint(0), uint(0) // so far
	before, wrong := uint(0), uint(0)
	for end < len(text) && text[end] != ' ' {
		what := uint(fenBytes[text[end]])
		slash := what / fenSlash & 1
		// Eight squares and a slash, eight squares and a slash, …
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

// gather returns the lowest bits of the eight bytes; see spread.
func gather(x uint64) uint64 { return x & 0x0101010101010101 * 0x0102040810204080 >> 56 }
