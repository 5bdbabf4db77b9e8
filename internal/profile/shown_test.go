package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestShownMoves: if the host enables it, the last move that a player was shown is stored; a
// board without moves has none.
func TestShownMoves(t *testing.T) {
	for _, tc := range []struct{ conf, want string }{
		{"", ""},
		{"(def keep-shown-moves 1)", "1 sees e2e4 on board 1, 1 sees d2d4 on board 2, 1 sees d2d4 on board 2"},
	} {
		r := newRig(t, "(def min-boards 2) (def max-boards 2) "+tc.conf)
		token, first := r.join(1)
		r.send(peerAt(1), movePacket(token, first, 2, "e2e4"))
		second := 3 - first
		r.send(peerAt(1), ackPacket(token, 2))
		r.send(peerAt(1), movePacket(token, second, 3, "d2d4"))
		r.send(peerAt(1), ackPacket(token, 3))
		r.send(peerAt(1), movePacket(token, first, 4, "e7e5"))
		r.send(peerAt(1), ackPacket(token, 4))
		r.send(peerAt(1), helloPacket(token, 5))
		r.wait(2 * time.Second) // it goes with another frame, or alone after a while
		r.apply()
		var got []string
		for _, s := range r.store.shown {
			board := s.Board
			if first == 2 { // which one the player got first is chance
				board = 3 - board
			}
			got = append(got, fmt.Sprintf("%d sees %s on board %d", s.Session, s.UCI, board))
		}
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s: got %s, want %s", tc.conf, text, tc.want)
		}
	}
}
