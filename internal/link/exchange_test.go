package link

import (
	"encoding/hex"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// The exchanges that were recorded from the original server, with the handler
// of rig. Each test names where we differ on purpose, and why.

// Original: ACK and SERVER_HELLO at 0, copies at 250 and 500 ms, then silence.
// Here the silent client has not proven its address: one copy.
func TestExchangeAnonymousHelloSilentClient(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, hello(wamble.Token{}, 1))
	_, first := r.out.At(0)
	if got, want := hex.EncodeToString(first),
		"05000100000000000000000000000000000000000000000000000000000000010000"; got != want {
		t.Errorf("the ACK echoes the zero token:\ngot  %s\nwant %s", got, want)
	}
	r.sees("ACK 1, SERVER_HELLO 1")
	r.wait(time.Minute)
	r.sees("")
}

// The same to a client that has proven its address before. Original: 0, 250 and
// 500 ms. Here the interval grows by half: 0, 250 and 625 ms. The move shows that the client
// has received SERVER_HELLO, which is not repeated any more.
func TestExchangeSilentClient(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, hello(wamble.Token{}, 1))
	r.send(alice, move(tokenA, 2))
	r.sees("ACK 1, SERVER_HELLO 1, ACK 2, BOARD_UPDATE 1")
	for _, step := range []struct {
		wait time.Duration
		want string
	}{
		{249 * time.Millisecond, ""},
		{time.Millisecond, "BOARD_UPDATE 1"},
		{374 * time.Millisecond, ""},
		{time.Millisecond, "BOARD_UPDATE 1"},
		{time.Minute, ""},
	} {
		r.wait(step.wait)
		r.sees(step.want)
	}
}

// Original: within 2 s ACK and SERVER_HELLO again; later ACK only. Here a hello whose answer
// is no longer kept is passed to the handler again, with the token that was offered: a client
// that missed its SERVER_HELLO gets another one.
func TestExchangeHelloRepeated(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, hello(wamble.Token{}, 1))
	r.sees("ACK 1, SERVER_HELLO 1")
	r.wait(1300 * time.Millisecond)
	r.send(alice, hello(wamble.Token{}, 1))
	r.sees("ACK 1, SERVER_HELLO 1")
	if len(r.ran) != 1 {
		t.Errorf("the handler ran for %v", r.ran)
	}
	r.wait(2200 * time.Millisecond)
	r.send(alice, hello(wamble.Token{}, 1))
	r.sees("ACK 1, SERVER_HELLO 1")
	if len(r.ran) != 2 || r.granted != tokenA {
		t.Errorf("the handler ran for %v, and was told %v", r.ran, r.granted)
	}
}

// Other requests as in the original: after the answer has expired, ACK only.
func TestExchangeMoveRepeated(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3, BOARD_UPDATE 1")
	r.wait(1900 * time.Millisecond)
	r.took()
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3, BOARD_UPDATE 1")
	r.wait(101 * time.Millisecond)
	r.took()
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3")
	if len(r.ran) != 1 {
		t.Errorf("the handler ran for %v", r.ran)
	}
}

// As in the original: SERVER_HELLO does not consume the counter.
func TestExchangeHelloAndNextShareNumber(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, hello(wamble.Token{}, 1))
	r.send(alice, move(tokenA, 2))
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 1, SERVER_HELLO 1, ACK 2, BOARD_UPDATE 1, ACK 3, BOARD_UPDATE 2")
}

// Original: 2000 executed, 1500 and 976 taken for duplicates, 975 executed, 2000 executed
// again. Here the window has every number it has seen.
func TestExchangeNumbersJumpBack(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	for _, step := range []struct {
		seq  uint32
		want Verdict
	}{{2000, New}, {1500, New}, {977, New}, {976, Dropped}, {975, Dropped}, {2000, Duplicate}, {1500, Duplicate}} {
		if got := r.send(alice, move(tokenA, step.seq)); got != step.want {
			t.Errorf("number %d: got verdict %d, want %d", step.seq, got, step.want)
		}
	}
}

// As in the original.
func TestExchangeTwoRequestsInOneBatch(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.release = false
	r.send(alice, move(tokenA, 3))
	r.send(alice, move(tokenA, 4))
	r.sees("")
	r.s.Release(r.now, r.gate, &r.out)
	r.sees("ACK 3, ACK 4, BOARD_UPDATE 1, BOARD_UPDATE 2")
}

// Original: chunk 0 three times in intervals of 100 ms, then silence; a retry
// brings all three chunks at once, with new numbers. Here the intervals are those
// of every packet, a retry begins with chunk 0 again, and numbers are taken once.
func TestExchangeTermsWithoutAcks(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, terms(tokenA, 3))
	r.sees("ACK 3, PROFILE_TOS_DATA 1")
	r.wait(1500 * time.Millisecond)
	r.sees("PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 1")
	r.send(alice, terms(tokenA, 3))
	r.sees("ACK 3, PROFILE_TOS_DATA 1")
	r.send(alice, ack(tokenA, 1))
	r.sees("PROFILE_TOS_DATA 2")
}

// Original: numbers 1, 5, 6, because the kept copies take 2, 3, 4. Here 1, 2, 3.
func TestExchangeTermsWithAcks(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, terms(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	r.send(alice, ack(tokenA, 2))
	r.send(alice, ack(tokenA, 3))
	r.sees("ACK 3, PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 2, PROFILE_TOS_DATA 3")
	r.wait(time.Minute)
	r.sees("")
}

// Original: ACK only, which traps a reconnecting client. Here a hello from a new address is
// executed and begins a run of its own.
func TestExchangeReconnectRestartsNumbers(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 50))
	r.took()
	r.send(carol, hello(tokenA, 1))
	r.sees("ACK 1 to 198.51.100.7:41000, SERVER_HELLO 1 to 198.51.100.7:41000")
	r.send(carol, move(tokenA, 2))
	r.sees("ACK 2 to 198.51.100.7:41000, BOARD_UPDATE 1 to 198.51.100.7:41000")
}

// As in the original: the unreliable hello gets no ACK, and the reliable number
// that follows is executed.
func TestExchangeReconnectUnreliably(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 50))
	r.took()
	r.send(carol, unreliable(hello(tokenA, 0)))
	r.sees("SERVER_HELLO 1 to 198.51.100.7:41000")
	if got := r.send(carol, move(tokenA, 1)); got != New {
		t.Errorf("number 1 after the hello: got verdict %d, want New", got)
	}
}

// As in the original.
func TestExchangeUnreliableTwice(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, unreliable(move(tokenA, 3)))
	r.send(alice, unreliable(move(tokenA, 3)))
	r.sees("BOARD_UPDATE 1, BOARD_UPDATE 2")
	if len(r.ran) != 2 {
		t.Errorf("the handler ran for %v", r.ran)
	}
}

// An ACK with an extension trailer, as test clients send it back for
// SERVER_HELLO (golden packet G54), and one with junk that is no trailer.
func TestExchangeAckWithPayload(t *testing.T) {
	g54, err := hex.DecodeString("05080100a0a1a2a3a4a5a6a7a8a9aaabacadaeaf000000000000002a00000001001c01010c73657373696f6e2e6361707302000000000000000157580018")
	if err != nil {
		t.Fatal(err)
	}
	token := wamble.Token(g54[4:20])
	junk := append(ack(token, 1), "junk"...)
	junk[1], junk[33] = byte(wire.FlagExt), 4
	for name, b := range map[string][]byte{"trailer": g54, "junk": junk} {
		r := newRig(t, Config{})
		r.handler = func(id Request, p *wire.Packet) {
			if err := Answer(r.s, id, wire.Header{Token: token, Board: 42}, wire.ServerHello{}); err != nil {
				t.Error(err)
			}
			r.s.Finish(id, 0)
		}
		r.send(alice, hello(wamble.Token{}, 1))
		r.sees("ACK 1, SERVER_HELLO 1")
		if got := r.send(alice, b); got != Delivered {
			t.Errorf("%s: got verdict %d, want Delivered", name, got)
		}
	}
}

// A client that has never acknowledged a packet gets the first chunk of each long answer at once, and no copies of
// an answer after its next request.
func TestClientThatNeverAcknowledges(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, hello(wamble.Token{}, 1))
	r.send(alice, encode(wire.Header{Token: tokenA, Seq: 2}, wire.Logout{})) // proves the address
	r.took()
	r.wait(5 * time.Second)
	r.sees("")
	r.release = false
	for seq := range uint32(5) {
		r.send(alice, terms(tokenA, 3+seq))
	}
	r.release = true
	r.s.Release(r.now, r.gate, &r.out)
	r.sees("ACK 3, ACK 4, ACK 5, ACK 6, ACK 7, PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 4, PROFILE_TOS_DATA 7, PROFILE_TOS_DATA 10, PROFILE_TOS_DATA 13")
	r.wait(300 * time.Millisecond)
	r.sees("PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 4, PROFILE_TOS_DATA 7, PROFILE_TOS_DATA 10, PROFILE_TOS_DATA 13")
	r.s.Push(tokenA, encode(wire.Header{Token: tokenA}, wire.BoardUpdate{}), r.gate)
	r.send(alice, move(tokenA, 8))
	r.sees("BOARD_UPDATE 16, ACK 8, BOARD_UPDATE 17")
	r.send(alice, move(tokenA, 9))
	r.sees("ACK 9, BOARD_UPDATE 18")
	r.wait(10 * time.Second)
	r.sees("BOARD_UPDATE 16, BOARD_UPDATE 18, BOARD_UPDATE 16, BOARD_UPDATE 18") // the push stays
	if got := r.s.Size().PacketBytes; got != 0 {
		t.Errorf("%d bytes of packets are left", got)
	}
}
