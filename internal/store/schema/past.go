package schema

import (
	"time"

	"wamble"
)

// Made is the number of a board and when it was made.
type Made struct {
	Board   wamble.BoardID
	Created time.Time
}

// ScanMade reads a Made.
func ScanMade(scan Scan) (m Made, err error) {
	err = scan(&m.Board, at(&m.Created))
	return m, err
}

// MadeBy finds the newest board that was made by a time, 0 if there is none, among those
// between the oldest and the newest of a profile. From returns the first board from a
// number on. It asks about as often as the numbers have binary digits.
func MadeBy(until time.Time, oldest, newest Made, from func(wamble.BoardID) (Made, error)) (wamble.BoardID, error) {
	if oldest.Created.After(until) {
		return 0, nil
	}
	low, high := oldest.Board, newest.Board // low was made by then, all behind high were not
	for low < high {
		middle := low + (high-low+1)/2
		m, err := from(middle)
		if err != nil {
			return 0, err
		}
		if m.Created.After(until) {
			high = middle - 1
		} else {
			low = m.Board
		}
	}
	return low, nil
}
