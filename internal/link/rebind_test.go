package link

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// moved is alice's address after a NAT has moved it.
var moved = peerAt("192.0.2.1:6000")

const toMoved = " to 192.0.2.1:6000"

// A repeated request from a new address: ACK and answer go there.
func TestDuplicateFromNewAddress(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	small := encode(wire.Header{Token: tokenA, Seq: 3}, wire.SpectateGame{})
	r.handler = func(id Request, p *wire.Packet) {
		r.s.Reply(id, encode(wire.Header{Token: tokenA}, wire.LegalMoves{}))
		r.s.Finish(id, 0)
	}
	r.send(alice, small)
	r.sees("ACK 3, LEGAL_MOVES 1")
	if got := r.send(moved, small); got != Duplicate {
		t.Errorf("got verdict %d, want Duplicate", got)
	}
	r.sees("ACK 3" + toMoved + ", LEGAL_MOVES 1" + toMoved)
	if len(r.ran) != 1 {
		t.Errorf("executed: %v", r.ran)
	}
}

// A new request from a new address continues the session: the same window, and
// no packet is moved before the new address acknowledges something.
func TestQueueMovesWithTheFirstAck(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3)) // its update is lost on the way
	r.sees("ACK 3, BOARD_UPDATE 1")
	logout := encode(wire.Header{Token: tokenA, Seq: 4}, wire.Logout{})
	if got := r.s.Receive(r.now, moved, logout, &r.out); got.Verdict != New || !got.Rebound {
		t.Errorf("got %+v, want a new request of a session that moved", got)
	} else {
		r.s.Finish(got.Request, r.gate)
		r.s.Release(r.now, r.gate, &r.out)
	}
	r.sees("ACK 4" + toMoved)
	r.wait(100 * time.Millisecond)
	r.sees("BOARD_UPDATE 1") // still to the old address
	r.send(moved, move(tokenA, 5))
	r.sees("ACK 5" + toMoved + ", BOARD_UPDATE 1" + toMoved) // proven: vouched, and a second request
	r.send(moved, ack(tokenA, 1))
	r.sees("BOARD_UPDATE 1" + toMoved) // the first one, which waited at the old address
	if got := r.send(alice, logout); got != Duplicate {
		t.Errorf("a late copy from the old address: got verdict %d, want Duplicate", got)
	}
}

// Pushes follow the client when the new address is proven; a late packet from the old one
// does not move them back.
func TestHomeMoves(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	push := func() string {
		r.took()
		r.s.Push(tokenA, encode(wire.Header{Flags: wire.FlagUnreliable, Token: tokenA}, wire.ServerNotification{}),
			r.gate)
		r.s.Release(r.now, r.gate, &r.out)
		return r.took()
	}
	const old, new = "SERVER_NOTIFICATION 0 unreliable", "SERVER_NOTIFICATION 0 unreliable" + toMoved
	r.send(moved, move(tokenA, 5))
	if got := push(); got != old {
		t.Errorf("unproven: got %q", got)
	}
	r.send(moved, move(tokenA, 6))
	if got := push(); got != new {
		t.Errorf("proven: got %q", got)
	}
	r.send(alice, move(tokenA, 4)) // delayed by the network
	if got := push(); got != new {
		t.Errorf("after a late packet: got %q", got)
	}
	r.send(alice, move(tokenA, 7)) // the NAT changed its mind
	if got := push(); got != old {
		t.Errorf("after a new packet from the old address: got %q", got)
	}
}

func TestRebindsAreLimited(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.wait(time.Minute)
	r.took()
	joined := 0
	for i := range uint32(10) {
		if r.send(peerAt("203.0.113."+itoa(i+1)+":7"), move(tokenA, 10+i)) == New {
			joined++
		}
	}
	if joined != rebindLimit.Burst {
		t.Errorf("%d addresses joined at once, want %d", joined, rebindLimit.Burst)
	}
	if got := len(r.s.table.byToken[tokenA].addrs); got > maxAddresses {
		t.Errorf("the session has %d addresses", got)
	}
	r.wait(rebindLimit.Per)
	if got := r.send(peerAt("203.0.113.50:7"), move(tokenA, 30)); got != New {
		t.Errorf("after a pause: got verdict %d, want New", got)
	}
}

// ACKs create no session and move none.
func TestAckFromNewAddress(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	before := r.s.Size()
	if got := r.send(moved, ack(tokenA, 1)); got != Dropped {
		t.Errorf("got verdict %d, want Dropped", got)
	}
	if got := r.s.Size(); got != before {
		t.Errorf("the server holds %+v, before %+v", got, before)
	}
}

// A hello repeated from a new address while its answer is kept is a duplicate;
// the one in flight is dropped and leaves no trace.
func TestHelloRepeatedFromNewAddress(t *testing.T) {
	r := newRig(t, Config{})
	r.release = false
	r.send(alice, hello(tokenA, 1))
	before := r.s.Size()
	if got := r.send(moved, hello(tokenA, 1)); got != Dropped {
		t.Errorf("in flight: got verdict %d, want Dropped", got)
	}
	if got := r.s.Size(); got != before {
		t.Errorf("the server holds %+v, before %+v", got, before)
	}
	r.release = true
	r.s.Release(r.now, r.gate, &r.out)
	if got := r.send(moved, hello(tokenA, 1)); got != Duplicate {
		t.Errorf("done: got verdict %d, want Duplicate", got)
	}
	r.sees("ACK 1, SERVER_HELLO 1, ACK 1" + toMoved + ", SERVER_HELLO 1" + toMoved)
}

// A hello far behind, or after a long silence, begins a new run at the same
// address: a restarted client with a fixed port.
func TestHelloRestartsNumbers(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 5000))
	if got := r.send(alice, hello(tokenA, 1)); got != New {
		t.Errorf("far behind: got verdict %d, want New", got)
	}
	if got := r.send(alice, move(tokenA, 2)); got != New {
		t.Errorf("the number after it: got verdict %d, want New", got)
	}
	r.wait(11 * time.Second)
	if got := r.send(alice, hello(tokenA, 1)); got != New {
		t.Errorf("after a silence: got verdict %d, want New", got)
	}
	if got := r.send(alice, move(tokenA, 2)); got != New {
		t.Errorf("the number after it: got verdict %d, want New", got)
	}
	if got := r.send(alice, move(tokenA, 2)); got != Duplicate {
		t.Errorf("and its copy: got verdict %d, want Duplicate", got)
	}
}

// A token has four sessions at most; the one with the oldest request is dropped.
func TestSessionsOfAToken(t *testing.T) {
	r := newRig(t, Config{})
	for i := range uint32(6) {
		r.send(peerAt("203.0.113."+itoa(i+1)+":7"), hello(tokenA, 1))
		r.wait(3 * time.Second)
	}
	n := 0
	for s := r.s.table.byToken[tokenA]; s != nil; s = s.next {
		n++
	}
	if n != maxSessions || r.s.Size().Sessions != maxSessions {
		t.Errorf("%d sessions by token, %d in all, want %d", n, r.s.Size().Sessions, maxSessions)
	}
}

// LOGOUT: no kept answer, no other address, no push.
func TestPurge(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(carol, hello(tokenA, 1))
	r.send(alice, move(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	r.took()
	if !r.s.Linked(tokenA) {
		t.Errorf("tokenA has no session")
	}
	r.handler = func(id Request, p *wire.Packet) {
		peer, _ := r.s.Peer(id)
		r.s.Purge(p.Token, peer)
		r.s.Finish(id, r.gate)
	}
	logout := encode(wire.Header{Token: tokenA, Seq: 4}, wire.Logout{})
	r.send(alice, logout)
	r.sees("ACK 4")
	r.send(alice, logout)
	r.sees("ACK 4")
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3")
	if n := r.s.Push(tokenA, move(tokenA, 0), r.gate); n != 0 || r.s.Linked(tokenA) {
		t.Errorf("a push reaches %d sessions", n)
	}
	if got := r.s.Size().Paths; got != 1 {
		t.Errorf("%d addresses left, want 1", got)
	}
}

// A packet written to a stream is delivered: one copy, bundles without waiting, no proof
// needed; a reconnect is a session of its own.
func TestStream(t *testing.T) {
	r := newRig(t, Config{})
	ws := streamAt("192.0.2.1:443", 1)
	r.send(ws, hello(wamble.Token{}, 0))
	r.send(ws, terms(tokenA, 1))
	const to = " to 192.0.2.1:443"
	r.sees("ACK 0" + to + ", SERVER_HELLO 1" + to + ", ACK 1" + to +
		", PROFILE_TOS_DATA 1" + to + ", PROFILE_TOS_DATA 2" + to + ", PROFILE_TOS_DATA 3" + to)
	r.wait(10 * time.Second)
	r.sees("")
	if got := r.send(ws, ack(tokenA, 1)); got != Delivered {
		t.Errorf("an ACK over a stream shows that the client is alive: got verdict %d, want Delivered", got)
	}
	if got := r.send(ws, ack(tokenB, 1)); got != Dropped {
		t.Errorf("an ACK with a token of another connection: got verdict %d, want Dropped", got)
	}
	again := streamAt("192.0.2.1:444", 2)
	if got := r.send(again, move(tokenA, 1)); got != New {
		t.Errorf("another connection with the same token: got verdict %d, want New", got)
	}
	r.s.Forget(ws)
	r.s.Forget(again)
	r.s.Forget(again)
	if got, want := r.s.Size(), (Size{}); got != want {
		t.Errorf("after the connections are closed the server holds %+v", got)
	}
}

// A client that reconnects, and continues its numbers, repeats a request of the connection
// before under its number: it is executed, and once only if it is sent twice.
func TestRepeatedOnNextStream(t *testing.T) {
	r := newRig(t, Config{})
	const to = " to 192.0.2.1:444"
	before, after := streamAt("192.0.2.1:443", 1), streamAt("192.0.2.1:444", 2)
	r.send(before, hello(tokenA, 7))
	r.send(before, move(tokenA, 8))
	r.s.Forget(before)
	r.send(after, hello(tokenA, 9))
	r.out.Reset()
	if got := r.send(after, move(tokenA, 8)); got != New {
		t.Errorf("the move on the new connection: got verdict %d, want New", got)
	}
	r.sees("ACK 8" + to + ", BOARD_UPDATE 1" + to)
	if got := r.send(after, move(tokenA, 10)); got != New {
		t.Errorf("the next move: got verdict %d, want New", got)
	}
	waits := move(tokenA, 6)
	if got := r.s.Receive(r.now, after, waits, &r.out); got.Verdict != New {
		t.Errorf("a move that is executed slowly: got verdict %d, want New", got.Verdict)
	}
	if got := r.send(after, waits); got != Dropped {
		t.Errorf("its copy while it is executed: got verdict %d, want Dropped", got)
	}
}

// ACKs are a sign of life.
func TestAckKeepsASessionAlive(t *testing.T) {
	r := newRig(t, Config{SessionTimeout: time.Minute})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.wait(50 * time.Second)
	for seq := uint32(2); seq < 6; seq++ {
		r.s.Push(tokenA, encode(wire.Header{Token: tokenA}, wire.BoardUpdate{}), r.gate)
		r.s.Release(r.now, r.gate, &r.out)
		got := r.s.Receive(r.now, alice, ack(tokenA, seq), &r.out)
		if got.Verdict != Delivered || got.Packet.Token != tokenA {
			t.Fatalf("ACK %d: got %+v", seq, got)
		}
		r.wait(50 * time.Second)
	}
	if got := r.s.Size().Paths; got != 1 {
		t.Errorf("%d addresses, want 1", got)
	}
	r.wait(time.Minute)
	if got, want := r.s.Size(), (Size{}); got != want {
		t.Errorf("after silence the server holds %+v", got)
	}
}

// A program that is started twice in a second counts from 1 twice. The numbers were seen
// before, but the requests are others.
func TestReusedNumbers(t *testing.T) {
	other := move(tokenA, 2)
	copy(other[len(other)-4:], "d2d4")
	cases := []struct {
		name string
		from wamble.Peer
		b    []byte
		want Verdict
	}{
		{"anonymous hello again", alice, hello(wamble.Token{}, 1), New}, // from any sender: a session of its own
		{"copy of the move", alice, move(tokenA, 2), Duplicate},
		{"another move", alice, other, New},
		{"its copy", alice, other, Duplicate},
		{"another hello", alice, hello(tokenA, 1), New},
		{"the first move again, in a new run", alice, move(tokenA, 2), New},
		{"hello from a new port", moved, hello(tokenA, 1), Duplicate}, // a copy, for all we know
		{"another move from there", moved, other, New},
	}
	r := newRig(t, Config{})
	r.send(alice, hello(wamble.Token{}, 1))
	r.send(alice, move(tokenA, 2))
	for _, c := range cases {
		if got := r.send(c.from, c.b); got != c.want {
			t.Errorf("%s: got verdict %d, want %d", c.name, got, c.want)
		}
	}
}

// The answer of another request is not replayed under a reused number.
func TestReusedNumberForgetsTheAnswer(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	r.took()
	logout := encode(wire.Header{Token: tokenA, Seq: 3}, wire.Logout{})
	r.send(alice, logout)
	r.send(alice, logout)
	r.sees("ACK 3, ACK 3")
}

// A NAT gives a player a new address while they think, and their move is the first packet
// from there: they get the one answer to it, as from the original, but no copies, and nothing
// unrequested. The same holds for a player whose token the handler knows, but whose session
// has ended.
func TestMoveFirstFromNewAddress(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		r := newRig(t, Config{SessionTimeout: 30 * time.Second})
		r.prove(alice)
		if forgotten {
			r.wait(time.Minute)
		}
		r.handler = func(id Request, p *wire.Packet) {
			if forgotten {
				r.s.Vouch(id)
			}
			if got := r.s.Room(id); got != wire.MaxPacket {
				t.Errorf("there is room for %d bytes, want %d", got, wire.MaxPacket)
			}
			for range 2 {
				if err := Answer(r.s, id, wire.Header{Token: tokenA, Board: 42},
					wire.BoardUpdate{FEN: make(wire.Text, 347)}); err != nil {
					t.Error(err)
				}
			}
			r.s.Finish(id, r.gate)
		}
		r.send(moved, move(tokenA, 3))
		r.sees("ACK 3" + toMoved + ", BOARD_UPDATE 1" + toMoved)
		r.wait(time.Second)
		r.sees("")
		r.send(moved, ack(tokenA, 1)) // proven
		r.sees("BOARD_UPDATE 2" + toMoved)
	}
}

// An invented token moves no session, and its answers keep to the credit.
func TestMoveWithUnknownTokenKeepsToTheCredit(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(moved, move(tokenB, 3))
	r.sees("")
}

// After a restart a watcher's one request brings more answers than an unproven
// address may be sent: the ACK of the first still proves it, and the others follow.
func TestFirstAnswerProvesAmongMany(t *testing.T) {
	r := newRig(t, Config{})
	r.handler = func(id Request, p *wire.Packet) {
		r.s.Vouch(id)
		h := wire.Header{Token: tokenA}
		r.s.Reply(id, encode(h, wire.SpectateUpdate{}))
		for range 2 * maxWithheld {
			r.s.Reply(id, encode(h, wire.SpectateUpdate{FEN: wire.Text(strings.Repeat("q", 170))}))
		}
		r.gate++
		r.s.Finish(id, r.gate)
	}
	r.send(alice, encode(wire.Header{Token: tokenA, Seq: 1}, wire.SpectateGame{}))
	r.sees("ACK 1, SPECTATE_UPDATE 1, SPECTATE_UPDATE 2")
	r.send(alice, ack(tokenA, 1))
	if got := strings.Count(r.took(), "SPECTATE_UPDATE"); got != maxWithheld-2 {
		t.Errorf("the ACK brings %d packets, want %d", got, maxWithheld-2)
	}
}

// A client reconnects twice, and its first hello arrives last: its later requests from
// another address belong to its latest session, so a copy is a copy.
func TestLateHelloTakesNoNumbers(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	second, late, third := peerAt("192.0.2.1:5001"), peerAt("192.0.2.1:5002"), peerAt("192.0.2.1:5003")
	r.send(second, hello(tokenA, 12))
	r.send(second, move(tokenA, 13))
	r.send(late, hello(tokenA, 11))
	if got := r.send(third, terms(tokenA, 14)); got != New {
		t.Errorf("the next request: got verdict %d, want New", got)
	}
	r.ran = nil
	if r.send(third, move(tokenA, 13)); len(r.ran) > 0 {
		t.Errorf("a copy of an earlier request has run again: %v", r.ran)
	}
}
