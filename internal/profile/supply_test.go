package profile

import (
	"testing"
	"time"
)

// TestSupply: the pool has as many boards as the longest game has plies, times
// the players who are here, between min-boards and max-boards.
func TestSupply(t *testing.T) {
	r := newRig(t, "(def min-boards 3) (def max-boards 7) (def session-timeout 400)")
	boards := func(want int) {
		t.Helper()
		if got := r.p.boards.Len(); got != want {
			t.Errorf("%d boards, want %d", got, want)
		}
	}
	boards(3)
	token, _ := r.join(1)
	r.join(2)
	r.wait(time.Minute)
	boards(3) // 2 players × no ply
	seq := uint32(1)
	for range 2 { // two plies on one board
		for ply := 0; ply < 2; {
			b := r.p.boards.Held(r.p.sessions.Find(token).ID())
			seq++
			r.send(peerAt(1), movePacket(token, b.ID(), seq, b.Position().LegalMoves(nil)[0].String()))
			ply = r.p.boards.Longest()
		}
	}
	r.wait(59 * time.Second)
	boards(3)
	r.wait(2 * time.Second)
	boards(4) // 2 players × 2 plies
	for range 40 {
		b := r.p.boards.Held(r.p.sessions.Find(token).ID())
		seq++
		r.send(peerAt(1), movePacket(token, b.ID(), seq, b.Position().LegalMoves(nil)[0].String()))
	}
	r.wait(time.Minute)
	boards(7) // never more
	r.step(&Configure{Config: configOf(t, "(def min-boards 9) (def max-boards 10) (def session-timeout 400)")})
	r.settle()
	boards(10)
}
