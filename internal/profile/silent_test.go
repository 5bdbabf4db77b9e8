package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestPlayerWithoutAcks: a client that never acknowledges, as the C library on UDP, thinks
// for longer than unconfirmed-timeout, and another player gets the board that it was shown.
// With the next request about it, the client is shown another board, or told that none is
// free, and plays on.
func TestPlayerWithoutAcks(t *testing.T) {
	for name, ask := range map[string]func(wamble.Token, wamble.BoardID, uint32) []byte{
		"legal moves": func(token wamble.Token, id wamble.BoardID,
			seq uint32) []byte {
			return legalPacket(token, id, seq, 12)
		},
		"move": func(token wamble.Token, id wamble.BoardID, seq uint32) []byte {
			return movePacket(token, id, seq, "e2e4")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2) (def max-boards 3) (def unconfirmed-timeout 60)")
			r.step(&Packet{Peer: peerAt(1), Data: helloPacket(wamble.Token{}, 1)})
			r.settle()
			me, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
			r.wait(61 * time.Second)
			r.join(2)
			r.join(3)
			if r.p.boards.Board(me.Board).Holder() == 0 {
				t.Fatal("the board is free")
			}
			r.apply()
			r.step(&Applied{Seq: r.seq})
			r.sent = nil
			r.step(&Packet{Peer: peerAt(1), Data: ask(me.Token, me.Board, 2)})
			r.answerLoads()
			r.settle()
			next, at := wire.Header{}, 0
			for i, s := range r.sent {
				if h, _ := wire.Peek(s.packet); h.Ctrl == wire.CtrlBoardUpdate {
					next, at = h, i
				}
			}
			if next.Board == 0 || at != len(r.sent)-1 {
				t.Fatalf("no BOARD_UPDATE after the answer: %s", r.took())
			}
			if got := r.send(peerAt(1), movePacket(me.Token, next.Board, 3, "e2e4")); !strings.Contains(got,
				"BOARD_UPDATE") {
				t.Errorf("the next move is answered by %s", got)
			}
		})
	}
}

// TestLostBoardNoneLeft: a player who was shown a board that others hold now is told so.
func TestLostBoardNoneLeft(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1) (def unconfirmed-timeout 60)")
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(wamble.Token{}, 1)})
	r.settle()
	me, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
	r.wait(61 * time.Second)
	r.join(2)
	r.apply()
	r.step(&Applied{Seq: r.seq})
	r.sent = nil
	r.step(&Packet{Peer: peerAt(1), Data: legalPacket(me.Token, me.Board, 2, 12)})
	r.answerLoads()
	if got := r.took(); !strings.Contains(got, "no board available") {
		t.Errorf("got %s", got)
	}
}

// TestAnyPacketConfirms: any request with the token makes the session of an offer
// with its board, and keeps it, without an ACK.
func TestAnyPacketConfirms(t *testing.T) {
	r := newRig(t, "(def min-boards 2) (def unconfirmed-timeout 60)")
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(wamble.Token{}, 1)})
	r.settle()
	me, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
	r.wait(59 * time.Second)
	r.sent = nil
	r.send(peerAt(1), encode(wire.Header{Token: me.Token, Seq: 2}, wire.GetPlayerStats{}))
	r.wait(5 * time.Minute)
	if got := r.send(peerAt(1), movePacket(me.Token, me.Board, 3, "e2e4")); !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("the move is answered by %s", got)
	}
}
