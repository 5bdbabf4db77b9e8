package schema

import (
	"math"
	"time"

	"wamble"
)

// Made is the number of a board and the time when it was made.
type Made struct {
	Board   wamble.BoardID
	Created time.Time
}

// ScanMade reads a Made.
func ScanMade(scan Scan) (m Made, err error) {
	err = scan(&m.Board, at(&m.Created))
	return m, err
}

// PastFrom returns where a page of the past begins: at the board of the query, but not at one
// made after its time.
func PastFrom(q wamble.PastQuery, board Made) Made {
	if q.Board == 0 || board.Created.After(q.Until) {
		return Made{math.MaxInt64, q.Until}
	}
	return board
}
