package profile

import (
	"testing"

	"wamble"
)

// TestArchive: the host ends a game; its holder is told and gets another board, and no points
// are paid.
func TestArchive(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 2)")
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	r.send(peerAt(1), ackPacket(token, 2))
	held := r.p.boards.Held(r.p.sessions.Find(token).ID()).ID()
	r.step(&Archive{Board: held})
	r.settle()
	expect(t, r.took(), "BOARD_UPDATE 08 rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b board "+itoa(uint32(id))+" session.caps reservation.reserved_at last_move.from last_move.to board.fen board.version board.own_move",
		"SERVER_NOTIFICATION 5 board "+itoa(uint32(held)))
	r.step(&Archive{Board: held}) // again
	r.step(&SetBrownout{Brownout: Brownout{ReadOnly: true}}, &Archive{Board: id}, &SetBrownout{})
	r.settle()
	r.apply()
	b := r.store.boards[held]
	if b.Status != wamble.Archived || b.Result == nil || b.Result.Result != wamble.Draw ||
		b.Result.Reason != "archived by the host" {
		t.Errorf("got %+v, want a draw by the host", b)
	}
	if r.store.boards[id].Status == wamble.Archived || len(r.store.scored) > 0 || r.p.Stats().Finished != 1 {
		t.Errorf("more ended than was said, or somebody was paid: %v", r.store.scored)
	}
	if n := r.p.boards.Len(); n != 1 {
		t.Errorf("%d boards, want 1: no more than are needed", n)
	}
}
