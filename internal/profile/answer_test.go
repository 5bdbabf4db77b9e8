package profile

import (
	"strings"
	"testing"

	"wamble"
	"wamble/wire"
)

// A client that asked twice can tell which answer is which. An update without a request has
// no request number.
func TestAnswersNameTheirRequest(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	token, id := r.join(1)
	for _, tc := range []struct {
		name   string
		packet []byte
		answer wire.Control
		want   int64
	}{
		{"move", movePacket(token, id, 2, "e2e4"), wire.CtrlBoardUpdate, 2},
		{"the same move under another number", movePacket(token, id, 7, "e2e4"), wire.CtrlBoardUpdate, 7},
		{"refusal", movePacket(token, 77, 8, "e2e4"), wire.CtrlError, 8},
		{"refusal without number", encode(wire.Header{Token: token, Board: 77, Flags: wire.FlagUnreliable}, wire.GetLegalMoves{}), wire.CtrlError, 0},
	} {
		r.step(&Packet{Peer: peerAt(1), Data: tc.packet})
		r.settle()
		r.answerLoads()
		answers := 0
		for _, s := range r.sent {
			var p wire.Packet
			if err := p.Decode(s.packet); err != nil {
				t.Fatal(err)
			}
			if p.Ctrl == wire.CtrlAck {
				continue
			}
			answers++
			got, named := p.Ext.Int(wire.KeyRequestSeq)
			if p.Ctrl != tc.answer || got != tc.want || named != (tc.want != 0) {
				t.Errorf("%s: %v names %d (%t), want %v that names %d", tc.name, p.Ctrl, got, named, tc.answer, tc.want)
			}
		}
		if answers != 1 {
			t.Errorf("%s: %d answers, want 1", tc.name, answers)
		}
		r.sent = nil
	}
}

// A player whose NAT gave them a new address while they thought, and whose move is the first
// packet from there, is shown their next board at once, and whole.
func TestMoveFirstFromNewAddress(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	token, id := r.join(1)
	proven := r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	token, id = r.join(2)
	moved := r.send(peerAt(3), movePacket(token, id, 2, "e2e4"))
	count := func(text string) int { return len(strings.Split(text, "\n")) }
	if !strings.Contains(moved, "BOARD_UPDATE") || !strings.Contains(moved, wire.KeyBoardVersion) ||
		count(moved) != count(proven) {
		t.Errorf("from a new address:\n%s\nfrom a proven one:\n%s", moved, proven)
	}
}

// TestOrderOfKeys: a BOARD_UPDATE has the keys of the original first, in its order, then the
// number of the request, which stays when space is short.
func TestOrderOfKeys(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	s := r.p.sessions.Find(token)
	const all = "session.caps reservation.reserved_at last_move.from last_move.to request.seq_num board.fen board.version board.own_move"
	for _, tc := range []struct {
		room int
		want string
	}{
		{wire.MaxPacket, all},
		{200, "session.caps reservation.reserved_at request.seq_num"},
		{160, "session.caps request.seq_num"},
		{120, "request.seq_num"},
		{100, all}, // it never fits
	} {
		v := r.p.show(s, r.p.heldBy(s), 7)
		v.fit(tc.room)
		var keys []string
		for _, f := range v.fields {
			keys = append(keys, f.Key)
		}
		if got := strings.Join(keys, " "); got != tc.want {
			t.Errorf("room for %d: got %s, want %s", tc.room, got, tc.want)
		}
	}
}

// TestNewPlayerHasRank: a player who is not in the store yet is ranked behind all others.
func TestNewPlayerHasRank(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	r.store.sessions[500] = &wamble.Session{ID: 500, Token: hashOf(wamble.Token{5}), LastSeen: epoch}
	token, _ := r.join(1)
	r.step(&Packet{Peer: peerAt(1), Data: ranksPacket(token, 2, 1, 5)})
	r.answerLoads()
	if got := r.took(); !strings.Contains(got, "LEADERBOARD_DATA 1 self 2 [1: 500 ") ||
		!strings.Contains(got, wire.KeyLeaderboardSelfRank) {
		t.Errorf("got %s", got)
	}
}
