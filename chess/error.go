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

// ParseError says at which byte a FEN, a move or a PGN is malformed, and why.
type ParseError struct {
	// Offset is the index of the first byte that is not accepted, or the length of the text if
	// something is missing at its end.
	Offset int
	// Reason is a sentence without a full stop.
	Reason string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("at offset %d: %s", e.Offset, e.Reason)
}

func parseErrorf(offset int, format string, args ...any) error {
	return &ParseError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
