package chess

import (
	"errors"
	"fmt"
)

// ErrIllegal is returned when a move is well formed but not legal in the
// position.
var ErrIllegal = errors.New("illegal move")

// ErrAmbiguous is returned when a move in SAN fits several legal moves.
var ErrAmbiguous = errors.New("ambiguous move")

// ParseError says where and why a FEN, a move or a PGN is malformed.
type ParseError struct {
	// Offset is the index of the byte that cannot be accepted; the length of
	// the text when something is missing at its end.
	Offset int
	// Reason is a sentence without its full stop.
	Reason string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("at offset %d: %s", e.Offset, e.Reason)
}

func parseErrorf(offset int, format string, args ...any) error {
	return &ParseError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
