package link

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// clientRig is a Client and the packets it sends.
type clientRig struct {
	t   *testing.T
	c   *Client
	out Batch
	now time.Duration
}

func newClientRig(t *testing.T, cfg ClientConfig) *clientRig {
	return &clientRig{t: t, c: NewClient(cfg)}
}

func (r *clientRig) ask(b []byte) uint32 {
	r.t.Helper()
	seq, err := r.c.Send(r.now, &r.out, b)
	if err != nil {
		r.t.Fatal(err)
	}
	return seq
}

// gets passes a packet to the client and checks the event.
func (r *clientRig) gets(b []byte, want EventKind) Event {
	r.t.Helper()
	e := r.c.Receive(r.now, b, &r.out)
	if e.Kind != want {
		r.t.Errorf("packet %x: got event %d, want %d", b[:min(len(b), 34)], e.Kind, want)
	}
	return e
}

func (r *clientRig) sees(want string) {
	r.t.Helper()
	var lines []string
	for i := range r.out.Len() {
		_, b := r.out.At(i)
		h, err := wire.Peek(b)
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%v %d", h.Ctrl, h.Seq))
	}
	r.out.Reset()
	if got := strings.Join(lines, ", "); got != want {
		r.t.Errorf("got %q, want %q", got, want)
	}
}

func serverHello(t wamble.Token) []byte {
	return encode(wire.Header{Token: t, Board: 42, Seq: 1}, wire.ServerHello{FEN: wire.Text("8/8 w")})
}

func boardUpdate(t wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: t, Board: 43, Seq: seq}, wire.BoardUpdate{FEN: wire.Text("8/8 b")})
}

// An ACK must carry number and token of the request; the zero token of an
// anonymous hello too.
func TestClientMatchesAcks(t *testing.T) {
	r := newClientRig(t, ClientConfig{})
	r.ask(hello(wamble.Token{}, 0))
	r.gets(ack(tokenA, 1), Ignored)
	r.gets(ack(wamble.Token{}, 2), Ignored)
	if e := r.gets(ack(wamble.Token{}, 1), Acked); e.Seq != 1 {
		t.Errorf("request %d is acknowledged, want 1", e.Seq)
	}
	r.gets(ack(wamble.Token{}, 1), Ignored)
	if r.c.Open() != 0 || r.c.Stats().Strays != 3 {
		t.Errorf("%d open, %+v", r.c.Open(), r.c.Stats())
	}
}

// Without ACK a request is sent at 0, 500, 1250, 2375 ms and so on, and is reported lost in
// the end.
func TestClientRepeats(t *testing.T) {
	r := newClientRig(t, ClientConfig{})
	r.ask(hello(wamble.Token{}, 0))
	var at []time.Duration
	var lost []uint32
	for len(lost) == 0 {
		next, ok := r.c.Next()
		if !ok {
			t.Fatal("nothing is due, but nothing was told either")
		}
		r.now = next
		r.out.Reset()
		lost = r.c.Due(r.now, &r.out, lost)
		if r.out.Len() > 0 {
			at = append(at, r.now)
		}
	}
	want := []time.Duration{500, 1250, 2375, 4062, 6593}
	for i := range want {
		if i >= len(at) || at[i].Truncate(time.Millisecond) != want[i]*time.Millisecond {
			t.Fatalf("repeated at %v, want %v ms", at, want)
		}
	}
	if len(at) != len(want) || lost[0] != 1 {
		t.Errorf("repeated at %v, lost %v", at, lost)
	}
	if _, ok := r.c.Next(); ok {
		t.Errorf("something is due after the loss was told")
	}
}

// A client that can try another server gives up earlier, and retries at more even intervals;
// one whose server has a long round trip waits for its answers all the same.
func TestClientHurries(t *testing.T) {
	for _, tc := range []struct {
		name    string
		hurry   int
		far     time.Duration // the server's first response time; 0: unknown
		at      []time.Duration
		givenUp time.Duration
	}{
		{name: "alone", at: []time.Duration{0, 500, 1250, 2375, 4062, 6593}, givenUp: 10390},
		{name: "others", hurry: 8, at: []time.Duration{0, 200, 400, 600, 800, 1000, 1200, 1400}, givenUp: 1600},
		{name: "looking for one", hurry: 3, at: []time.Duration{0, 200, 400}, givenUp: 600},
		{name: "far away", hurry: 8, far: 300 * time.Millisecond, at: []time.Duration{0, 900, 1800, 2700}, givenUp: 3600},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newClientRig(t, ClientConfig{})
			r.c.Hurry(8 - tc.hurry)
			r.c.Hurry(tc.hurry)
			if tc.far > 0 {
				r.ask(hello(wamble.Token{}, 0))
				r.now += tc.far
				r.gets(ack(wamble.Token{}, 1), Acked)
			}
			began := r.now
			r.ask(hello(wamble.Token{}, 0))
			at, lost := []time.Duration{0}, []uint32(nil)
			for r.out.Reset(); len(lost) == 0; r.out.Reset() {
				r.now, _ = r.c.Next()
				if lost = r.c.Due(r.now, &r.out, lost); r.out.Len() > 0 {
					at = append(at, (r.now-began).Truncate(time.Millisecond)/time.Millisecond)
				}
			}
			if givenUp := (r.now - began).Truncate(time.Millisecond) / time.Millisecond; !slices.Equal(at, tc.at) ||
				givenUp != tc.givenUp {
				t.Errorf("sent after %d ms, given up after %d, want %d and %d", at, givenUp, tc.at, tc.givenUp)
			}
		})
	}
}

// SERVER_HELLO and the packet after it have the same number; neither is taken for
// a copy of the other, real copies are acknowledged and filtered.
func TestClientFiltersDuplicates(t *testing.T) {
	r := newClientRig(t, ClientConfig{})
	r.ask(hello(wamble.Token{}, 0))
	r.gets(ack(wamble.Token{}, 1), Acked)
	if e := r.gets(serverHello(tokenA), Arrived); !e.Greeted || e.Hello != 1 || e.Packet.Token != tokenA {
		t.Errorf("got %+v", e)
	}
	r.gets(boardUpdate(tokenA, 1), Arrived)
	r.gets(serverHello(tokenA), Repeated)
	r.gets(boardUpdate(tokenA, 1), Repeated)
	r.gets(boardUpdate(tokenA, 2), Arrived)
	r.sees("CLIENT_HELLO 1, ACK 1, ACK 1, ACK 1, ACK 1, ACK 2")
	r.now += recentTime // a server that was restarted counts from 1 again
	r.gets(boardUpdate(tokenA, 1), Arrived)
	notice := encode(wire.Header{Flags: wire.FlagUnreliable, Token: tokenA}, wire.ServerNotification{})
	r.out.Reset()
	r.gets(notice, Arrived)
	r.gets(notice, Arrived) // unreliable: no filter, no ACK
	r.sees("")
}

// The client's ACK is the packet's header with control code 5.
func TestClientAckCopiesHeader(t *testing.T) {
	r := newClientRig(t, ClientConfig{})
	update := boardUpdate(tokenA, 9)
	r.gets(update, Arrived)
	_, got := r.out.At(0)
	want := append([]byte(nil), update[:wire.HeaderSize]...)
	want[0], want[32], want[33] = byte(wire.CtrlAck), 0, 0
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// A second SERVER_HELLO, which answers a copy of the same hello, perhaps with
// another token, does not greet.
func TestClientIsGreetedOnce(t *testing.T) {
	r := newClientRig(t, ClientConfig{})
	r.ask(hello(wamble.Token{}, 0))
	if e := r.gets(serverHello(tokenA), Arrived); !e.Greeted {
		t.Errorf("the first does not greet")
	}
	if e := r.gets(serverHello(tokenB), Arrived); e.Greeted {
		t.Errorf("the second greets")
	}
	if r.c.Open() != 0 {
		t.Errorf("the hello is answered, but still repeated")
	}
	r.ask(hello(tokenA, 0))
	// Its answer may be the same in every byte.
	if e := r.gets(serverHello(tokenA), Arrived); !e.Greeted || e.Hello != 2 {
		t.Errorf("a new hello: got %+v", e)
	}
	r.gets(serverHello(tokenA), Repeated)
}

// chunks cuts a payload into packets as a server does.
func chunks(t *testing.T, id, seq uint32, payload []byte) [][]byte {
	transfer, err := wire.NewTransfer(id, payload)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for i := range transfer.Chunks() {
		all = append(all, encode(wire.Header{Ctrl: wire.CtrlProfileTOSData, Token: tokenA, Seq: seq + uint32(i)},
			transfer.Fragment(i)))
	}
	return all
}

func TestClientJoinsFragments(t *testing.T) {
	r := newClientRig(t, ClientConfig{MaxTransfer: 4000})
	text := bytes.Repeat([]byte("terms "), 500)
	c := chunks(t, 1, 1, text)
	other := chunks(t, 2, 9, []byte("short"))
	r.gets(c[0], Partial)
	r.gets(c[2], Partial)
	r.gets(c[2], Partial)
	if e := r.gets(other[0], Arrived); string(e.Packet.Message.(*wire.ProfileTOSData).Terms) != "short" {
		t.Errorf("got %+v", e.Packet.Message)
	}
	// The other transfer replaced the first one: its chunks, replayed, are needed once more.
	r.gets(c[0], Partial)
	r.gets(c[1], Partial)
	if e := r.gets(c[2], Arrived); !bytes.Equal(e.Packet.Message.(*wire.ProfileTOSData).Terms, text) {
		t.Errorf("the joined text differs")
	}
	r.gets(c[0], Repeated)
	r.gets(other[0], Repeated)
	r.sees("ACK 1, ACK 3, ACK 3, ACK 9, ACK 1, ACK 2, ACK 3, ACK 1, ACK 9")
	r.gets(chunks(t, 3, 20, make([]byte, 4001))[0], Ignored)
}

// Reset returns the lost requests; numbers go on, so that no server takes the next hello for
// an old one.
func TestClientReset(t *testing.T) {
	r := newClientRig(t, ClientConfig{FirstSeq: 7})
	r.ask(hello(tokenA, 0))
	r.ask(move(tokenA, 0))
	r.gets(boardUpdate(tokenA, 1), Arrived)
	if lost := r.c.Reset(nil); len(lost) != 2 || lost[0] != 7 || lost[1] != 8 {
		t.Errorf("lost %v, want 7 and 8", lost)
	}
	if seq := r.ask(hello(tokenA, 0)); seq != 9 {
		t.Errorf("the next number is %d, want 9", seq)
	}
	r.gets(boardUpdate(tokenA, 1), Arrived)
}

// Over a stream nothing is repeated, but a missing ACK is reported.
func TestClientOverAStream(t *testing.T) {
	r := newClientRig(t, ClientConfig{Server: streamAt("192.0.2.1:443", 1)})
	r.ask(move(tokenA, 0))
	r.sees("PLAYER_MOVE 1")
	var lost []uint32
	for range 10 {
		if next, ok := r.c.Next(); ok {
			r.now = next
			lost = r.c.Due(r.now, &r.out, lost)
		}
	}
	r.sees("")
	if len(lost) != 1 || lost[0] != 1 {
		t.Errorf("lost %v, want 1", lost)
	}
}

func TestClientBusy(t *testing.T) {
	r := newClientRig(t, ClientConfig{MaxOpen: 2})
	r.ask(move(tokenA, 0))
	r.ask(move(tokenA, 0))
	if _, err := r.c.Send(r.now, &r.out, move(tokenA, 0)); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	if _, err := r.c.Send(r.now, &r.out, unreliable(move(tokenA, 0))); err != nil {
		t.Errorf("unreliable: %v", err)
	}
	if _, err := r.c.Send(r.now, &r.out, []byte("short")); err == nil {
		t.Errorf("a packet without header was sent")
	}
}

// Malformed packets, and those that only clients send, are neither acknowledged nor returned.
func TestClientIgnoresNonsense(t *testing.T) {
	r := newClientRig(t, ClientConfig{})
	unknown := boardUpdate(tokenA, 1)
	unknown[0] = 0xEE
	for _, b := range [][]byte{nil, []byte("junk"), move(tokenA, 1), unknown, boardUpdate(tokenA, 1)[:36]} {
		r.gets(b, Ignored)
	}
	r.sees("")
	if got := r.c.Stats().Malformed; got != 5 {
		t.Errorf("%d counted, want 5", got)
	}
}

// FuzzClientReceive feeds a client with packets of a hostile server or network: it never
// sends more than one ACK for a packet.
func FuzzClientReceive(f *testing.F) {
	f.Add(serverHello(tokenA))
	f.Add(ack(wamble.Token{}, 1))
	f.Add(encode(wire.Header{Ctrl: wire.CtrlProfileTOSData, Seq: 3},
		wire.Fragment{Count: 2, Total: 1300, Chunk: make([]byte, wire.ChunkSize)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newClientRig(t, ClientConfig{})
		r.ask(hello(wamble.Token{}, 0))
		for range 2 {
			r.out.Reset()
			r.c.Receive(time.Second, b, &r.out)
			if r.out.Len() > 1 {
				t.Fatalf("%d packets for one", r.out.Len())
			}
		}
	})
}
