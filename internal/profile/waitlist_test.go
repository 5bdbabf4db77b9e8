package profile

import (
	"testing"
	"time"

	"wamble"
	"wamble/internal/share"
	"wamble/wire"
)

// waiting says hello over a connection when no board is free, and returns the token and the
// place on the list.
func (r *rig) waiting(n int) (wamble.Token, int64) {
	r.t.Helper()
	hello := encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, 1))
	var p wire.Packet
	if err := p.Decode(r.reply(streamAt(n), hello)); err != nil || p.Ctrl != wire.CtrlServerHello || p.Board != 0 {
		r.t.Fatalf("%d is greeted by %v with board %d: %v", n, p.Ctrl, p.Board, err)
	}
	place, _ := p.Ext.Int(wire.KeyWaitPlace)
	return p.Token, place
}

// shownTo returns the board that was pushed to a connection since the last call that read the
// sent packets, 0 if none was.
func (r *rig) shownTo(n int) (board wamble.BoardID) {
	for _, s := range r.sent {
		if h, _ := wire.Peek(s.packet); s.to == streamAt(n) && h.Ctrl == wire.CtrlBoardUpdate {
			board = h.Board
		}
	}
	return board
}

// TestWaitingIsAQueue: the player who waits longest gets the next board and is shown it; one
// who has just moved waits behind them.
func TestWaitingIsAQueue(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.joinBy(streamAt(1))
	tokens := map[int]wamble.Token{1: token}
	for n := 2; n <= 3; n++ {
		token, place := r.waiting(n)
		if tokens[n] = token; place != int64(n-1) {
			t.Errorf("%d has place %d, want %d", n, place, n-1)
		}
	}
	moves := []string{"e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5"}
	for i, uci := range moves {
		who, next := 1+i%3, 1+(i+1)%3
		r.sent = nil
		r.step(&Packet{Peer: streamAt(who), Data: movePacket(tokens[who], id, uint32(10+i), uci)})
		r.settle()
		if got := r.shownTo(next); got != id {
			t.Fatalf("after move %d of player %d, player %d is shown board %d", i, who, next, got)
		}
		if r.p.boards.Held(r.p.sessions.Find(tokens[next]).ID()) == nil {
			t.Fatalf("after move %d player %d does not hold the board", i, next)
		}
		for _, s := range r.sent {
			var p wire.Packet
			if p.Decode(s.packet) == nil && s.to == streamAt(who) && p.Ctrl == wire.CtrlBoardUpdate {
				if got, _ := p.Ext.Int(wire.KeyWaitPlace); got != 2 {
					t.Errorf("who has moved has place %d, want 2", got)
				}
			}
		}
	}
	if got := r.p.Stats().Deals.Turns; got != uint64(len(moves)) || r.p.Gauges().Waiting != 2 {
		t.Errorf("%d turns, %d wait", got, r.p.Gauges().Waiting)
	}
}

// TestNobodyJumpsTheQueue: a board that is given back goes to the queue, not to a player who
// says hello in the same step; one who has left meanwhile is passed over.
func TestNobodyJumpsTheQueue(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.joinBy(streamAt(1))
	r.waiting(2)
	third, _ := r.waiting(3)
	r.sent = nil
	r.step(
		&PeerClosed{Peer: streamAt(2)},
		&Packet{Peer: streamAt(1), Data: encode(wire.Header{Token: token, Seq: 9}, wire.ClientGoodbye{})},
		&Packet{Peer: streamAt(4),
			Data: encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, 1))},
	)
	r.settle()
	if got := r.shownTo(3); got != id || r.p.boards.Board(id).Holder() != r.p.sessions.Find(third).ID() {
		t.Errorf("who waited is shown board %d, session %d holds it", got, r.p.boards.Board(id).Holder())
	}
	if got := r.p.Gauges().Waiting; got != 1 {
		t.Errorf("%d wait, want the newcomer alone", got)
	}
}

// TestWaitlistIsBounded: one host cannot fill the list, and loses its place to others.
func TestWaitlistIsBounded(t *testing.T) {
	var w waitlist
	const greedy, other = share.Host(1), share.Host(2)
	for id := range wamble.SessionID(maxWaitlist + 10) {
		w.add(epoch, id+1, greedy)
	}
	if len(w.of) != maxWaitlist {
		t.Fatalf("%d wait", len(w.of))
	}
	w.add(epoch, 99_999, other)
	if len(w.of) != maxWaitlist || w.place(99_999) != maxWaitlist || w.place(1) != 0 {
		t.Errorf("%d wait, the other has place %d, the first of the greedy host %d", len(w.of), w.place(99_999),
			w.place(1))
	}
	for id := range wamble.SessionID(maxWaitlist + 10) {
		w.remove(id + 1)
	}
	if w.order.Len() != 1 || w.place(99_999) != 1 {
		t.Error("the other is not the first and last")
	}
}

// TestWaitlistOutlivesAHandoff: a player who waits by UDP keeps their place.
func TestWaitlistOutlivesAHandoff(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	first, id := r.join(1)
	hello := r.withCookie(peerAt(2), wamble.Token{}, 1, wire.Int(wire.KeyHelloWithoutBoard, 1))
	h, _ := wire.Peek(r.reply(peerAt(2), hello))
	r.send(peerAt(2), ackPacket(h.Token, 1))
	if got := r.p.Gauges().Waiting; got != 1 {
		t.Fatalf("%d wait", got)
	}
	r = handOver(t, r)
	r.sent = nil
	r.step(&Packet{Peer: peerAt(1), Data: movePacket(first, id, 5, "e2e4")})
	r.settle()
	if b := r.p.boards.Board(id); b.Holder() == 0 || b.Holder() == r.p.sessions.Find(first).ID() {
		t.Errorf("session %d holds the board; %s", b.Holder(), r.took())
	}
}

// TestPlaceIsKept: a player who has lost their connection, or was in a browser when the
// server was replaced, finds their place again if they return within disconnect-timeout;
// meanwhile the next one has their turn.
func TestPlaceIsKept(t *testing.T) {
	for _, tc := range []struct {
		name   string
		handed bool
		after  time.Duration
		want   int64
	}{
		{"closed", false, 14 * time.Second, 1},
		{"closed for long", false, 16 * time.Second, 2},
		{"handed over", true, 14 * time.Second, 1},
		{"handed over, and gone for long", true, 16 * time.Second, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 1) (def max-boards 1)")
			first, id := r.join(1)
			second, _ := r.waiting(2)
			third, _ := r.waiting(3)
			if r.step(&PeerClosed{Peer: streamAt(2)}); tc.handed {
				r = handOver(t, r)
			}
			back := func(n int, token wamble.Token) int64 {
				var p wire.Packet
				hello := encode(wire.Header{Token: token, Seq: 2}, wire.ClientHello{},
					wire.Int(wire.KeyHelloWithoutBoard, 1))
				if err := p.Decode(r.reply(streamAt(n), hello)); err != nil || p.Board != 0 {
					t.Fatalf("%d has board %d, %v", n, p.Board, err)
				}
				place, _ := p.Ext.Int(wire.KeyWaitPlace)
				return place
			}
			if tc.handed {
				if got := back(3, third); got != 2 {
					t.Errorf("the second who waits has place %d after the handoff", got)
				}
			}
			if got := r.p.Gauges().Waiting; got != 1 {
				t.Errorf("%d wait and are here, want 1", got)
			}
			r.now = r.now.Add(tc.after)
			if got := back(2, second); got != tc.want {
				t.Errorf("got place %d after %v, want %d", got, tc.after, tc.want)
			}
			r.sent = nil
			r.step(&Packet{Peer: peerAt(1), Data: movePacket(first, id, 5, "e2e4")})
			r.settle()
			turn := map[int64]int{1: 2, 2: 3}[tc.want]
			if got := r.shownTo(turn); got != id {
				t.Errorf("player %d is shown board %d", turn, got)
			}
		})
	}
}

// TestPassedOver: a board goes to the first player who is present, and an absent one keeps
// their place before later ones.
func TestPassedOver(t *testing.T) {
	var w waitlist
	for id := range wamble.SessionID(3) {
		w.add(epoch, id+1, share.Host(1))
	}
	w.markAbsent(1, epoch.Add(time.Minute))
	w.markAbsent(2, epoch.Add(time.Second))
	if got := w.next(epoch.Add(2 * time.Second)); got != 3 || w.here() != 0 || w.place(2) != 0 {
		t.Errorf("got session %d, %d are here, the one whose time is up has place %d", got, w.here(), w.place(2))
	}
	if got := w.next(epoch); got != 0 {
		t.Errorf("got session %d, want nobody", got)
	}
	w.add(epoch.Add(2*time.Second), 4, share.Host(1))
	w.add(epoch.Add(2*time.Second), 1, share.Host(1))
	if w.place(1) != 1 || w.place(4) != 2 || w.here() != 2 {
		t.Errorf("places %d and %d, %d are here", w.place(1), w.place(4), w.here())
	}
}

// TestThinkerKeepsHisBoard: an ACK of number 0 is a sign of life; it has no answer.
func TestThinkerKeepsHisBoard(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 3)")
	token, id := r.joinBy(streamAt(1))
	for range 6 {
		r.wait(30 * time.Second)
		if r.p.boards.Board(id).Holder() == 0 {
			t.Fatal("the board is free while its player thinks")
		}
		r.sent = nil
		if got := r.send(streamAt(1), ackPacket(token, 0)); got != "" {
			t.Errorf("a sign of life is answered by %s", got)
		}
	}
	r.send(streamAt(2), ackPacket(token, 0)) // from another address it is none
	r.wait(2*time.Minute + time.Second)
	if r.p.boards.Board(id).Holder() != 0 {
		t.Error("the board is not free, though its player is gone")
	}
}
