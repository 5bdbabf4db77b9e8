package board

import (
	"strings"

	"wamble/chess"
)

// fens writes the FENs of boards. A board does not keep its own: that would be a
// hundred bytes more, and far away when it is wanted. Each is a piece of a long
// text, so that most cost no allocation; the last one is remembered, because who
// is given a board is shown it at once.
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
	f.text.Write(b.position.AppendFEN(f.bytes[:0]))
	f.last, f.board, f.version = f.text.String()[start:], b, b.version
	return f.last
}

// FEN returns the position of a board in all six fields. Do not keep it: it may
// hold on to much more memory than its own.
func (p *Pool) FEN(b *Board) string { return p.intents.fens.of(b) }
