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
		board made
		want  made
	}{
		{"no board", made{}, made{math.MaxInt64, at(10)}},
		{"a board of before", made{7, at(9)}, made{7, at(9)}},
		{"a board of then", made{7, at(10)}, made{7, at(10)}},
		{"a board of after", made{7, at(11)}, made{math.MaxInt64, at(10)}},
	} {
		if got := pastFrom(wamble.PastQuery{Board: tc.board.board, Until: at(10)}, tc.board); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
