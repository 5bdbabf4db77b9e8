package web_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// fen returns the position of the person's board.
func (p *person) fen() string {
	p.t.Helper()
	return see[string](p, `document.querySelector('.stage').dataset.fen`)
}

// TestParty: two browsers and ten bots play. After a move a player is on another board at
// once, and is told so.
func TestParty(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 24)`))
	crowd := release(t, h, 10, 60*time.Millisecond)
	ada, bob := meet(t, screen{width: 1280, height: 860, motion: true}), meet(t, phone)
	ada.sit(h.url)
	bob.sit(h.url)
	r := rand.New(rand.NewPCG(7, 7))
	seen := map[string]bool{ada.board(): true}
	for n := 0; n < 4 || len(seen) < 3; n++ {
		if n == 16 { // every second move may lead back to a board on which the player's own was answered
			t.Fatalf("%d moves led to %d boards", n, len(seen))
		}
		uci := anyMove(ada.fen(), r)
		from := ada.board()
		ada.move(byClick, uci[:2], uci[2:4])
		if ada.board() == from {
			t.Errorf("after a move on board %s the player is still there", from)
		}
		ada.reads(".story", "stays on board "+from+".")
		ada.reads(".story", "Board "+ada.board()+": you are ")
		seen[ada.board()] = true

		bob.playAny(byTouch)
	}
	if n := crowd.moves.Load(); n == 0 {
		t.Error("the bots made no move")
	}
}
