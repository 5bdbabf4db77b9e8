package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// joinBy says hello over a connection, and returns the token and the board.
func (r *rig) joinBy(from wamble.Peer) (wamble.Token, wamble.BoardID) {
	r.t.Helper()
	h, _ := wire.Peek(r.reply(from, helloPacket(wamble.Token{}, 1)))
	r.send(from, statsPacket(h.Token, 2))
	return h.Token, h.Board
}

// TestWhoIsGoneHoldsNothing: an absent player's board is free 15 s after their connection was
// closed; after two minutes of silence if their client has sent signs of life while they
// thought; and otherwise after inactivity-timeout.
func TestWhoIsGoneHoldsNothing(t *testing.T) {
	for _, tc := range []struct {
		name  string
		from  wamble.Peer
		close bool
		after time.Duration
	}{
		{"closed", streamAt(1), true, 15 * time.Second},
		{"silent", streamAt(1), false, 5 * time.Minute},
		{"connection with signs of life", streamAt(1), false, 2 * time.Minute},
		{"UDP", peerAt(1), false, 5 * time.Minute},
		{"UDP with signs of life", peerAt(1), false, 2 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 1) (def max-boards 3) (def session-timeout 3600)")
			var token wamble.Token
			var id wamble.BoardID
			if token, id = r.joinBy(tc.from); strings.HasSuffix(tc.name, "signs of life") {
				r.wait(time.Second)
				r.send(tc.from, ackPacket(token, 0))
			}
			if tc.close {
				r.step(&PeerClosed{Peer: tc.from})
			}
			r.wait(tc.after - time.Second)
			if r.p.boards.Board(id).Holder() == 0 {
				t.Fatal("it is free already")
			}
			r.wait(2 * time.Second)
			if r.p.boards.Board(id).Holder() != 0 || r.p.boards.Here() != 0 {
				t.Fatal("it is not free")
			}
			// The player plays on as if nothing had happened, while nobody else has the
			// board.
			r.sent = nil
			again := tc.from
			if tc.close {
				again = streamAt(7)
			}
			if got := r.send(again, movePacket(token, id, 3, "e2e4")); !strings.Contains(got, "BOARD_UPDATE") {
				t.Errorf("the move is answered by %s", got)
			}
			if got := r.p.boards.Board(id).Plies(); got != 1 {
				t.Errorf("%d moves", got)
			}
		})
	}
}

// TestGoneAndTaken: a player who comes back too late is told so when another gets their
// board, and gets another one when they ask about it.
func TestGoneAndTaken(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 3) (def session-timeout 3600)")
	token, id := r.joinBy(streamAt(1))
	r.wait(time.Second)
	r.send(streamAt(1), ackPacket(token, 0))
	r.wait(121 * time.Second)
	r.sent = nil
	r.step(&Packet{Peer: streamAt(2), Data: helloPacket(wamble.Token{}, 1)})
	r.settle()
	if r.p.boards.Board(id).Holder() == 0 {
		t.Fatal("the other got another board")
	}
	told := ""
	for _, s := range r.sent {
		if h, _ := wire.Peek(s.packet); h.Ctrl == wire.CtrlServerNotification && h.Token == token &&
			s.to == streamAt(1) {
			told += "released"
		}
	}
	if told != "released" {
		t.Errorf("the player was told %q: %s", told, r.took())
	}
	got := r.send(streamAt(1), movePacket(token, id, 3, "e2e4"))
	if !strings.Contains(got, "ERROR") || !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("the move is answered by %s", got)
	}
}

// TestClosedAndBack: a player who connects again within 15 s keeps their board.
func TestClosedAndBack(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 3)")
	token, id := r.joinBy(streamAt(1))
	r.step(&PeerClosed{Peer: streamAt(1)})
	r.wait(14 * time.Second)
	r.send(streamAt(2), helloPacket(token, 3))
	r.wait(time.Minute)
	if b := r.p.boards.Board(id); b.Holder() == 0 {
		t.Error("the player's board is free")
	}
	// The player has a second open connection when the first is closed.
	r.send(streamAt(3), encode(wire.Header{Token: token, Seq: 4}, wire.GetPlayerStats{}))
	r.step(&PeerClosed{Peer: streamAt(2)})
	r.wait(time.Minute)
	if b := r.p.boards.Board(id); b.Holder() == 0 {
		t.Error("the board is free, though its player has a connection")
	}
}

// TestHandoffClosesConnections: in the next process no player has a connection, and one who
// does not come back loses their board.
func TestHandoffClosesConnections(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 3)")
	_, id := r.joinBy(streamAt(1))
	_, udp := r.join(2)
	state := handedOver(t, r.p)
	r.p = New(Options{Config: r.p.cfg, Seed: [32]byte{3}, Now: r.now})
	r.step(state...)
	r.settle()
	r.wait(16 * time.Second)
	if r.p.boards.Board(id).Holder() != 0 || r.p.boards.Board(udp).Holder() == 0 {
		t.Errorf("%d and %d hold boards", r.p.boards.Board(id).Holder(), r.p.boards.Board(udp).Holder())
	}
}

// TestWatchingTakesNoBoard: a session that only watches or reads is not a player, by a
// connection or by UDP; it becomes one with a hello for a board.
func TestWatchingTakesNoBoard(t *testing.T) {
	for name, from := range map[string]wamble.Peer{"WebSocket": streamAt(1), "UDP": peerAt(1)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 1) (def max-boards 3)")
			watch := wire.Int(wire.KeyHelloWithoutBoard, 2)
			h, _ := wire.Peek(r.reply(from, encode(wire.Header{Seq: 1}, wire.ClientHello{}, watch)))
			if h.Ctrl != wire.CtrlServerHello || h.Token.IsZero() || h.Board != 0 {
				t.Fatalf("greeted by %+v", h)
			}
			r.send(from, statsPacket(h.Token, 2))
			if s := r.p.sessions.Find(h.Token); s == nil || r.p.boards.Held(s.ID()) != nil || r.p.boards.Here() != 0 {
				t.Fatalf("%v holds a board, or is unknown; %d are here", s, r.p.boards.Here())
			}
			if n := r.p.count(); n.Players != 1 || n.Playing() != 0 {
				t.Errorf("other shards are told of %d who play, of %d", n.Playing(), n.Players)
			}
			h, _ = wire.Peek(r.reply(from, helloPacket(h.Token, 3)))
			if h.Board == 0 || r.p.boards.Here() != 1 {
				t.Errorf("board %d; %d are here", h.Board, r.p.boards.Here())
			}
			if n := r.p.count(); n.Playing() != 1 {
				t.Errorf("other shards are told of %d who play, want 1", n.Playing())
			}
		})
	}
}

// TestWatchingFreesTheBoard: a player who starts to watch keeps their board for the two
// minutes of a silent one, whatever else they send, and gets it back when they want to play
// again.
func TestWatchingFreesTheBoard(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 3)")
	token, id := r.joinBy(streamAt(1))
	seq := uint32(2)
	passes := func(d time.Duration) {
		for end := r.now.Add(d); r.now.Before(end); {
			r.wait(10 * time.Second)
			seq += 2
			r.send(streamAt(1), encode(wire.Header{Token: token, Seq: seq}, wire.ClientHello{},
				wire.Int(wire.KeyHelloWithoutBoard, 2)))
			r.send(streamAt(1), statsPacket(token, seq+1))
			r.send(streamAt(1), ackPacket(token, 0))
		}
	}
	passes(110 * time.Second)
	if r.p.boards.Board(id).Holder() == 0 {
		t.Fatal("the watcher's board is free already")
	}
	r.send(streamAt(1), helloPacket(token, 1000)) // the player is back, and goes again
	seq = 1000
	passes(110 * time.Second)
	if r.p.boards.Board(id).Holder() == 0 {
		t.Fatal("the watcher's board is free already")
	}
	passes(40 * time.Second)
	if r.p.boards.Board(id).Holder() != 0 || r.p.boards.Here() != 0 {
		t.Fatal("the watcher's board is not free")
	}
	if h, _ := wire.Peek(r.reply(streamAt(1), helloPacket(token, 2000))); h.Board != id {
		t.Errorf("the player gets board %d, want their %d", h.Board, id)
	}
	r.wait(100 * time.Second)
	r.send(streamAt(1), ackPacket(token, 0))
	r.wait(100 * time.Second)
	if r.p.boards.Board(id).Holder() == 0 {
		t.Error("the board is free while its player thinks")
	}
}

// TestDealsAreCounted: metrics count how boards are assigned and how long they wait.
func TestDealsAreCounted(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	r.wait(3 * time.Second)
	r.send(peerAt(1), movePacket(token, id, 3, "e7e5"))
	want := DealStats{Given: 3, Own: 2, Fresh: 1, Same: 2, Answers: 1, Waited: r.p.Stats().Deals.Waited}
	if got := r.p.Stats().Deals; got != want || got.Waited < 3*time.Second || got.Waited > 4*time.Second {
		t.Errorf("got %+v", got)
	}
	if g := r.p.Gauges(); g.Here != 1 || g.AsleepBoards != 0 {
		t.Errorf("%d are here, %d boards sleep", g.Here, g.AsleepBoards)
	}
}

// TestGoodbyeReturns: a goodbye that announces a return frees the board at once; the
// returning player is the same, and gets the board again unless another has it.
func TestGoodbyeReturns(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.joinBy(streamAt(1))
	bye := func(seq uint32) []byte {
		return encode(wire.Header{Token: token, Seq: seq}, wire.ClientGoodbye{}, wire.Int(wire.KeyGoodbyeReturns, 1))
	}
	expect(t, r.send(streamAt(1), bye(3)), "ACK 3")
	r.step(&PeerClosed{Peer: streamAt(1)})
	if r.p.boards.Board(id).Holder() != 0 || r.p.boards.Here() != 0 {
		t.Fatal("the board is not free")
	}
	h, _ := wire.Peek(r.reply(streamAt(2), helloPacket(token, 4)))
	if h.Ctrl != wire.CtrlServerHello || h.Token != token || h.Board != id {
		t.Fatalf("greeted by %+v, want board %d and the same token", h, id)
	}
	expect(t, r.send(streamAt(2), bye(5)), "ACK 5")
	if _, got := r.joinBy(streamAt(3)); got != id {
		t.Errorf("another got board %d, want %d", got, id)
	}
	watch := wire.Int(wire.KeyHelloWithoutBoard, 1)
	h, _ = wire.Peek(r.reply(streamAt(2), encode(wire.Header{Token: token, Seq: 6}, wire.ClientHello{}, watch)))
	if h.Token != token || h.Board != 0 {
		t.Errorf("greeted by %+v, want no board", h)
	}
}
