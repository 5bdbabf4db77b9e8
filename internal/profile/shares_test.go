package profile

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// portOf is one of many addresses of one host.
func portOf(host byte, port int) wamble.Peer {
	return wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), uint16(port))}
}

// arrive says hello from an address and acknowledges the answer, if one comes.
func (r *rig) arrive(from wamble.Peer, ext ...wire.Field) (token wamble.Token, board wamble.BoardID) {
	r.t.Helper()
	r.sent = nil
	r.step(&Packet{Peer: from, Data: encode(wire.Header{Seq: 1}, wire.ClientHello{}, ext...)})
	r.settle()
	for _, s := range r.sent {
		if h, _ := wire.Peek(s.packet); h.Ctrl == wire.CtrlServerHello && s.to == from {
			token, board = h.Token, h.Board
		}
	}
	if !token.IsZero() {
		r.step(&Packet{Peer: from, Data: ackPacket(token, 1)})
	}
	r.sent = nil
	return token, board
}

// One host holds everything and is never silent: a player from another one plays at once, at
// the cost of that host's idlest player alone.
func TestOneHostCannotTakeEverything(t *testing.T) {
	for _, tc := range []struct{ name, conf string }{
		{"sessions", `(def max-players 8)`},
		{"boards", `(def min-boards 8) (def max-boards 8)`},
		{"addresses", `(def max-client-sessions 8)`},
		{"everything", `(def max-players 8) (def max-client-sessions 8) (def min-boards 8) (def max-boards 8)`},
	} {
		for _, without := range []bool{false, true} {
			name := tc.name
			var ext []wire.Field
			if without {
				name += " without a board"
				ext = []wire.Field{wire.Int(wire.KeyHelloWithoutBoard, 1)}
			}
			t.Run(name, func(t *testing.T) {
				r := newRig(t, tc.conf)
				var greedy []wamble.Token
				keepAlive := func() {
					for i, token := range greedy {
						r.now = r.now.Add(time.Millisecond)
						r.step(&Packet{Peer: portOf(1, 1000+i),
							Data: legalPacket(token, 1, uint32(r.now.UnixMilli()), 12)})
						r.settle()
					}
				}
				for i := range 8 {
					token, _ := r.arrive(portOf(1, 1000+i))
					greedy = append(greedy, token)
				}
				for n := range byte(5) {
					r.apply()
					r.wait(5 * time.Second)
					keepAlive()
					token, board := r.arrive(portOf(10+n, 2000), ext...)
					if token.IsZero() || board == 0 {
						t.Fatalf("newcomer %d: token %v, board %d", n, token, board)
					}
					keepAlive()
					r.sent = nil
					if got := r.send(portOf(10+n, 2000), legalPacket(token, board, 2, 12)); !strings.Contains(got,
						"LEGAL_MOVES") {
						t.Errorf("newcomer %d cannot play: %s", n, got)
					}
				}
			})
		}
	}
}

// Hellos from invented addresses, which are never confirmed, take neither the place of
// players nor that of a newcomer who answers.
func TestUnconfirmedMakeRoomFirst(t *testing.T) {
	r := newRig(t, `(def max-players 8) (def max-client-sessions 8) (def min-boards 8) (def max-boards 8)`)
	first, board := r.arrive(portOf(1, 1000))
	second, other := r.arrive(portOf(1, 1001)) // two players of one household
	for n := range 100 {
		r.step(&Packet{Peer: peerAt(n), Data: helloPacket(wamble.Token{}, 1)})
		r.settle()
		r.apply()
		r.step(&Applied{Seq: r.seq})
		r.now = r.now.Add(time.Millisecond)
	}
	r.sent = nil
	if got := r.send(portOf(1, 1000), legalPacket(first, board, 2, 12)); !strings.Contains(got, "LEGAL_MOVES") {
		t.Errorf("the first player lost their board: %s", got)
	}
	if got := r.send(portOf(1, 1001), legalPacket(second, other, 2, 12)); !strings.Contains(got, "LEGAL_MOVES") {
		t.Errorf("the second player lost their board: %s", got)
	}
	if token, board := r.arrive(portOf(9, 2000)); token.IsZero() || board == 0 {
		t.Errorf("a newcomer got token %v and board %d", token, board)
	}
}

// What a host holds is known after a handoff, too.
func TestSharesOutliveAHandoff(t *testing.T) {
	r := newRig(t, `(def max-players 8) (def max-client-sessions 8) (def min-boards 8) (def max-boards 8)`)
	for i := range 8 {
		r.arrive(portOf(1, 1000+i))
	}
	r.settle()
	r = handOver(t, r)
	if token, board := r.arrive(portOf(9, 2000)); token.IsZero() || board == 0 {
		t.Errorf("a newcomer got token %v and board %d", token, board)
	}
}
