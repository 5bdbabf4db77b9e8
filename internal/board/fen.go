package board

import (
	"strings"

	"wamble/chess"
)

// placement caches the first field of a board's FEN, which is most of the work of a FEN. n is 0 if it is
// not cached: after a move, or because it is longer than 63 bytes, which is rare.
type placement struct {
	n    uint8
	text [63]byte
}

// append appends the field of b to dst.
func (p *placement) append(dst []byte, b *Board) []byte {
	if p.n > 0 {
		return append(dst, p.text[:p.n]...)
	}
	start := len(dst)
	dst = b.position.AppendPlacement(dst)
	if text := dst[start:]; len(text) <= len(p.text) {
		p.n = uint8(copy(p.text[:], text))
	}
	return dst
}

// fenWriter writes the FENs of boards. Boards do not store their own, since the text would not be in the
// CPU's cache when it is needed. Each FEN is a part of a long text, so that most FENs cost no allocation.
// The last one is cached, because a board is shown right after it was assigned.
type fenWriter struct {
	text    strings.Builder
	bytes   [chess.MaxFEN]byte
	last    string
	board   *Board // of last
	version uint64 // of board in last: FEN must not be called between Board.add and Pool.update
}

// longText is how many bytes are allocated at once.
const longText = 4096

func (f *fenWriter) of(b *Board) string {
	if f.board == b && f.version == b.version {
		return f.last
	}
	if f.text.Cap()-f.text.Len() < chess.MaxFEN {
		f.text = strings.Builder{}
		f.text.Grow(longText)
	}
	start := f.text.Len()
	f.text.Write(b.position.AppendState(b.placement.append(f.bytes[:0], b)))
	f.last, f.board, f.version = f.text.String()[start:], b, b.version
	return f.last
}

// FEN returns the position of a board in all six fields. The caller must not retain it: it shares a larger
// text.
func (p *Pool) FEN(b *Board) string { return p.intents.fens.of(b) }
