package loader

import (
	"iter"
	"slices"

	"wamble"
	"wamble/chess"
)

// Accepted is a move that the server answered with success.
type Accepted struct {
	Token wamble.Token
	Board wamble.BoardID
	// Ply is 1 for the first move of the board; 0 if unknown, because the server did not send
	// the whole FEN.
	Ply int
	UCI string
}

// entry is Accepted in 16 bytes.
type entry struct {
	board  wamble.BoardID
	player uint32 // index in log.tokens
	ply    uint16
	move   chess.Move
}

// log stores accepted moves, in blocks so that growing copies nothing.
type log struct {
	tokens []wamble.Token // of all sessions of the run
	blocks [][]entry
	n      int
}

const logBlock = 1 << 14

// session stores a token and returns its index.
func (l *log) session(t wamble.Token) uint32 {
	l.tokens = append(l.tokens, t)
	return uint32(len(l.tokens) - 1)
}

func (l *log) add(e entry) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == logBlock {
		l.blocks = append(l.blocks, make([]entry, 0, logBlock))
		last++
	}
	l.blocks[last] = append(l.blocks[last], e)
	l.n++
}

func (l *log) accepted(e entry) Accepted {
	return Accepted{Token: l.tokens[e.player], Board: e.board, Ply: int(e.ply), UCI: e.move.String()}
}

// entries yields the moves in the order in which they were accepted.
func (l *log) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, block := range l.blocks {
			for _, e := range block {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// sorted returns the moves by board and ply.
func (l *log) sorted() []entry { return slices.SortedFunc(l.entries(), compareEntries) }
