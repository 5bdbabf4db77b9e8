package profile

import (
	"testing"
	"time"

	"wamble/wire"
)

// TestVisitsAreCounted: a visit sees the end of a game if it comes before the visitor
// leaves, and he has moved in the game since he came.
func TestVisitsAreCounted(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1) (def max-moves-per-board 2)")
	expectVisits := func(visits, sawEnd uint64) {
		t.Helper()
		if got := r.p.Stats().Deals; got.Visits != visits || got.SawEnd != sawEnd {
			t.Errorf("%d visits have ended, %d saw an end, want %d and %d", got.Visits, got.SawEnd, visits, sawEnd)
		}
	}
	// One moves and leaves before the answer, which ends the game.
	first, id := r.joinBy(streamAt(1))
	r.send(streamAt(1), movePacket(first, id, 3, "e2e4"))
	r.step(&PeerClosed{Peer: streamAt(1)})
	expectVisits(1, 0)
	r.wait(time.Minute)
	second, id := r.joinBy(streamAt(2))
	r.send(streamAt(2), movePacket(second, id, 3, "e7e5"))
	expectVisits(1, 0)
	r.step(&PeerClosed{Peer: streamAt(2)})
	expectVisits(2, 1)
	// The first returns, and says goodbye without a move.
	r.wait(time.Minute)
	r.send(streamAt(3), helloPacket(first, 4))
	r.send(streamAt(3), encode(wire.Header{Token: first, Seq: 5}, wire.ClientGoodbye{}))
	r.step(&PeerClosed{Peer: streamAt(3)})
	expectVisits(3, 1)
	// And one says nothing more.
	r.joinBy(streamAt(4))
	r.wait(10 * time.Minute)
	expectVisits(4, 1)
}
