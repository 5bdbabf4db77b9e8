package profile

import (
	"testing"

	"wamble"
)

// TestResendViews: when shards have missed updates, their watchers are shown every board that
// is played on, and that those which were finished meanwhile are gone.
func TestResendViews(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	_, played := r.join(1)
	_, over := r.join(2)
	r.step(&ResendViews{})
	if n := len(r.out.BoardViews); n != 0 {
		t.Errorf("%d boards are shown, and nobody watches", n)
	}
	r.p.transfers.watchers = 1 << 1
	r.step(&Archive{Board: over})
	r.settle()
	r.step(&ResendViews{})
	gone := map[wamble.BoardID]bool{}
	for _, s := range r.out.BoardViews {
		gone[s.Board.ID] = s.Gone
	}
	if is, shown := gone[played]; is || !shown {
		t.Errorf("the board that is played on: shown %v, gone %v", shown, is)
	}
	if !gone[over] {
		t.Error("nobody is told that the other board is gone")
	}
}
