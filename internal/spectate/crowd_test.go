package spectate

import (
	"slices"
	"testing"

	"wamble"
)

// TestCrowds: the boards with most watchers of one board come first; watchers of all boards
// do not count.
func TestCrowds(t *testing.T) {
	r := newRig(t, usual)
	for id := wamble.BoardID(1); id <= 4; id++ {
		r.show(id, 1)
	}
	for session, board := range []wamble.BoardID{0, 3, 3, 2, 4, 3, 2, 0} {
		r.watch(wamble.SessionID(session+1), Request{Board: board})
	}
	want := []BoardAudience{{3, 3}, {2, 2}, {4, 1}}
	if got := r.h.Audiences(5); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := r.h.Audiences(1); !slices.Equal(got, want[:1]) {
		t.Errorf("got %v, want %v", got, want[:1])
	}
}
