package link

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// A request is new, in flight or done.
func TestRequestInFlight(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.release = false
	if got := r.send(alice, move(tokenA, 3)); got != New {
		t.Fatalf("got verdict %d, want New", got)
	}
	if got := r.send(alice, move(tokenA, 3)); got != Dropped {
		t.Errorf("in flight: got verdict %d, want Dropped", got)
	}
	r.wait(20 * time.Second) // no timer runs before the release
	r.sees("")
	r.s.Release(r.now, r.gate-1, &r.out)
	r.sees("")
	r.s.Release(r.now, r.gate, &r.out)
	r.sees("ACK 3, BOARD_UPDATE 1")
	if got := r.send(alice, move(tokenA, 3)); got != Duplicate {
		t.Errorf("done: got verdict %d, want Duplicate", got)
	}
	r.sees("ACK 3") // the update waits for its own timer
	r.wait(100 * time.Millisecond)
	r.sees("BOARD_UPDATE 1")
}

// A request may be answered in a later step; those after it need not wait.
func TestRequestAnsweredLater(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	var later []Request
	r.handler = func(id Request, p *wire.Packet) {
		if p.Seq == 3 {
			later = append(later, id)
			return
		}
		r.answer(id, p)
	}
	r.send(alice, move(tokenA, 3))
	r.send(alice, move(tokenA, 4))
	r.sees("ACK 4, BOARD_UPDATE 1")
	if p, ok := r.s.Peer(later[0]); !ok || p != alice {
		t.Errorf("request came from %v, %v", p, ok)
	}
	r.s.Reply(later[0], encode(wire.Header{Token: tokenA, Board: 42}, wire.BoardUpdate{}))
	r.s.Finish(later[0], r.gate+1)
	r.s.Release(r.now, r.gate+1, &r.out)
	r.sees("ACK 3, BOARD_UPDATE 2")
	if _, ok := r.s.Peer(later[0]); ok {
		t.Errorf("the request is over, but its handle still names it")
	}
	r.s.Finish(later[0], r.gate+2) // does nothing
	if r.s.Held() != 0 {
		t.Errorf("%d outputs held", r.s.Held())
	}
}

// Gates do not go down: a request that finishes later does not overtake.
func TestDurableIndexDoesNotGoDown(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	gates := []uint64{9, 4}
	r.handler = func(id Request, p *wire.Packet) { r.s.Finish(id, gates[p.Seq-3]) }
	r.release = false
	r.send(alice, move(tokenA, 3))
	r.send(alice, move(tokenA, 4))
	r.s.Release(r.now, 8, &r.out)
	r.sees("")
	r.s.Release(r.now, 9, &r.out)
	r.sees("ACK 3, ACK 4")
}

func TestAbandonedRequestIsNewAgain(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.handler = func(id Request, p *wire.Packet) {
		r.s.Reply(id, encode(wire.Header{Token: tokenA}, wire.BoardUpdate{}))
		r.s.Abandon(id)
	}
	r.send(alice, move(tokenA, 3))
	r.sees("")
	r.handler = r.answer
	if got := r.send(alice, move(tokenA, 3)); got != New {
		t.Errorf("got verdict %d, want New", got)
	}
}

// Pushes go to every session of a token, reliably or not as their flags say. ACKs
// of a release come first, unreliable packets last.
func TestPush(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(carol, hello(tokenA, 1))
	r.send(carol, move(tokenA, 2))
	r.send(alice, move(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	r.send(carol, ack(tokenA, 1))
	r.send(carol, ack(tokenA, 1))
	r.took()
	r.release = false
	r.send(alice, move(tokenA, 4))
	update := encode(wire.Header{Token: tokenA, Board: 7}, wire.BoardUpdate{})
	notice := encode(wire.Header{Flags: wire.FlagUnreliable, Token: tokenA, Seq: 9}, wire.ServerNotification{})
	if n := r.s.Push(tokenA, notice, r.gate); n != 2 {
		t.Errorf("pushed to %d sessions, want 2", n)
	}
	r.s.Push(tokenA, update, r.gate)
	if n := r.s.Push(wamble.Token{1, 2, 3}, update, r.gate); n != 0 {
		t.Errorf("a token that nobody has is pushed to %d sessions", n)
	}
	r.sees("")
	r.s.Release(r.now, r.gate, &r.out)
	r.sees("ACK 4, BOARD_UPDATE 2, BOARD_UPDATE 3, BOARD_UPDATE 2 to 198.51.100.7:41000, " +
		"SERVER_NOTIFICATION 0 unreliable, SERVER_NOTIFICATION 0 unreliable to 198.51.100.7:41000")
	r.wait(100 * time.Millisecond)
	if got := r.took(); strings.Contains(got, "NOTIFICATION") || !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("repeated: %s", got)
	}
}

// A session may have maxOpen requests in flight; one more is dropped as busy.
func TestTooManyInFlight(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.handler = func(Request, *wire.Packet) {}
	for seq := range uint32(maxOpen) {
		if got := r.send(alice, move(tokenA, 3+seq)); got != New {
			t.Fatalf("request %d: got verdict %d, want New", seq, got)
		}
	}
	if got := r.send(alice, move(tokenA, 500)); got != Dropped || r.s.Stats().Busy != 1 {
		t.Errorf("one more: got verdict %d, want Dropped as busy", got)
	}
}

// Under load an output is always held; the queue of outputs stays short.
func TestHeldStaysShort(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.release = false
	for seq := uint32(3); seq < 2000; seq++ {
		r.send(alice, move(tokenA, seq))
		r.s.Release(r.now, r.gate-1, &r.out)
		if r.s.Held() != 1 {
			t.Fatalf("%d held, want 1", r.s.Held())
		}
	}
	if got := cap(r.s.outputs.items); got > 8 {
		t.Errorf("room for %d outputs, at most 2 were held", got)
	}
}

// An address that is dropped while its request is in flight gets nothing, and leaves no
// state.
func TestAddressForgottenInFlight(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.handler = func(id Request, p *wire.Packet) {
		h := wire.Header{Token: tokenA}
		if err := Answer(r.s, id, h, wire.BoardUpdate{}); err != nil {
			t.Error(err)
		}
		r.s.Push(tokenA, encode(h, wire.BoardUpdate{}), 1)
		r.s.Forget(alice)
		if err := Answer(r.s, id, h, wire.ProfileTOSData{Terms: make([]byte, 2000)}); err != nil {
			t.Error(err)
		}
		r.s.Reply(id, encode(h, wire.BoardUpdate{}))
		r.s.Vouch(id)
		if got := r.s.Room(id); got != 0 {
			t.Errorf("there is room for %d bytes to nobody", got)
		}
		r.s.Finish(id, 1)
	}
	r.send(alice, move(tokenA, 3))
	r.s.Release(r.now, 1, &r.out)
	r.sees("")
	if got, want := r.s.Size(), (Size{}); got != want {
		t.Errorf("the server holds %+v", got)
	}
}

// A packet that only servers send is dispatched, acknowledged and nothing else; one that is
// not allowed without a token, unknown or malformed is dropped silently.
func TestOddRequests(t *testing.T) {
	unknown := move(tokenA, 3)
	unknown[0] = 0xEE
	reserved := move(tokenA, 3)
	reserved[3] = 1
	cases := []struct {
		name string
		b    []byte
		want Verdict
		sent string
	}{
		{"a server's packet", encode(wire.Header{Token: tokenA, Seq: 3}, wire.BoardUpdate{}), New, "ACK 3"},
		{"no token", move(wamble.Token{}, 3), Dropped, ""},
		{"unknown code", unknown, Dropped, ""},
		{"reserved byte", reserved, Dropped, ""},
		{"bad payload", move(tokenA, 3)[:36], Dropped, ""},
		{"wake-up byte", []byte{0}, Dropped, ""},
	}
	for _, c := range cases {
		r := newRig(t, Config{})
		r.prove(alice)
		before := r.s.Size()
		if got := r.send(alice, c.b); got != c.want {
			t.Errorf("%s: got verdict %d, want %d", c.name, got, c.want)
		}
		r.sees(c.sent)
		r.send(bob, c.b)
		if got := r.s.Size(); c.want == Dropped && got != before {
			t.Errorf("%s: state was made for it: %+v, before %+v", c.name, got, before)
		}
	}
}

// Unseen reports a board that was pushed, until its ACK comes; not one that answers a
// request.
func TestUnseen(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	var unseen bool
	r.handler = func(id Request, p *wire.Packet) {
		unseen = r.s.Unseen(id, 42)
		r.s.Reply(id, encode(wire.Header{Token: tokenA, Board: 42}, wire.BoardUpdate{},
			wire.Int(wire.KeyRequestSeq, int64(p.Seq))))
		r.s.Finish(id, r.gate)
	}
	asks := func(seq uint32, want bool, when string) {
		t.Helper()
		if r.send(alice, move(tokenA, seq)); unseen != want {
			t.Errorf("%s: got %v", when, unseen)
		}
	}
	asks(3, false, "nothing was sent")
	asks(4, false, "only an answer has no ACK")
	r.s.Push(tokenA, encode(wire.Header{Token: tokenA, Board: 7}, wire.BoardUpdate{}), r.gate)
	r.s.Release(r.now, r.gate, &r.out)
	asks(5, false, "another board was pushed")
	r.s.Push(tokenA, encode(wire.Header{Token: tokenA, Board: 42}, wire.BoardUpdate{}), r.gate+1)
	asks(6, true, "a push waits for its gate")
	r.gate++
	r.s.Release(r.now, r.gate, &r.out)
	asks(7, true, "a push waits for its ACK")
	for seq := range uint32(9) {
		r.send(alice, encode(wire.Header{Token: tokenA, Seq: seq}, wire.Ack{}))
	}
	asks(8, false, "the push was acknowledged")
}
