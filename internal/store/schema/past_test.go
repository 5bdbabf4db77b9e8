package schema

import (
	"math"
	"testing"
	"time"

	"wamble"
)

// TestPastFrom: a page begins at its board, and never after the time of the query.
func TestPastFrom(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, tc := range []struct {
		name  string
		board Made
		want  Made
	}{
		{"no board", Made{}, Made{math.MaxInt64, at(10)}},
		{"a board of before", Made{7, at(9)}, Made{7, at(9)}},
		{"a board of then", Made{7, at(10)}, Made{7, at(10)}},
		{"a board of after", Made{7, at(11)}, Made{math.MaxInt64, at(10)}},
	} {
		if got := PastFrom(wamble.PastQuery{Board: tc.board.Board, Until: at(10)}, tc.board); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
