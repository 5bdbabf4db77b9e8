package board

import (
	"strings"

	"wamble/chess"
)

// pieces is the first field of a board's FEN, by far the most work of it, since
// it was written for the last move; n is 0 if it was not, or is too long, which
// hardly any is.
type pieces struct {
	n    uint8
	text [63]byte
}

// append appends the field of b, and writes it if it must.
func (p *pieces) append(dst []byte, b *Board) []byte {
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

// fens writes the FENs of boards. A board does not keep the text of its own: it
// would be far away when it is wanted. Each is a piece of a long text, so that
// most cost no allocation; the last one is remembered, because who is given a
// board is shown it at once.
type fens struct {
	text    strings.Builder
	bytes   [chess.MaxFEN]byte
	last    string
	board   *Board // whose the last one is, and
	version uint64 // of which version; so between Board.add and Pool.update nobody may ask
}

// longText is how many bytes are allocated at once.
const longText = 4096

func (f *fens) of(b *Board) string {
	if f.board == b && f.version == b.version {
		return f.last
	}
	if f.text.Cap()-f.text.Len() < chess.MaxFEN {
		f.text = strings.Builder{}
		f.text.Grow(longText)
	}
	start := f.text.Len()
	f.text.Write(b.position.AppendState(b.pieces.append(f.bytes[:0], b)))
	f.last, f.board, f.version = f.text.String()[start:], b, b.version
	return f.last
}

// FEN returns the position of a board in all six fields. Do not keep it: it may
// hold on to much more memory than its own.
func (p *Pool) FEN(b *Board) string { return p.intents.fens.of(b) }
