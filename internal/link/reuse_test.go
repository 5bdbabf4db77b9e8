package link

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// A reused slot has nothing of the request before: its fields are set one by one, and a new
// one must not be left out.
func TestASlotIsUsedAgain(t *testing.T) {
	path := &path{serial: 7, sess: &session{serial: 8, epoch: 9}}
	h := wire.Header{Ctrl: wire.CtrlLogout, Flags: wire.FlagUnreliable, Version: 1, Token: tokenA, Board: 5, Seq: 6}
	for v, i := reflect.ValueOf(h), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the test does not set %s", v.Type().Field(i).Name)
		}
	}
	in := &incoming{Header: &h, size: 34}
	var fresh, used requests
	fresh.add(path, in)
	used.slots = []request{{gen: 3, done: true,
		h:    wire.Header{Ctrl: 1, Flags: 1, Version: 9, Token: wamble.Token{9}, Board: 9, Seq: 9},
		size: 9, of: fingerprint{9, 9}, path: 9, session: 9, epoch: 1, replies: []*packet{nil}}}
	used.free = []uint32{0}
	used.add(path, in)
	got, want := used.slots[0], fresh.slots[0]
	if got.gen != 4 || len(got.replies) != 0 {
		t.Errorf("gen %d, %d replies", got.gen, len(got.replies))
	}
	got.gen, got.replies, want.gen, want.replies = 0, nil, 0, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if want.h != h {
		t.Errorf("the header is %+v, want %+v", want.h, h)
	}
}

// The result of Receive is valid until the next call: nothing of it shows later.
func TestReceivedIsSetAnew(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	got := r.s.Receive(r.now, moved, encode(wire.Header{Token: tokenA, Seq: 3}, wire.Logout{}), &r.out)
	if got.Verdict != New || !got.Rebound || got.Packet == nil {
		t.Fatalf("got %+v", got)
	}
	got.Granted = tokenA
	for _, b := range [][]byte{nil, {1, 2}, ack(tokenA, 99), move(wamble.Token{}, 1)} {
		if got := r.s.Receive(r.now, carol, b, &r.out); *got != (Received{}) {
			t.Errorf("% x: got %+v, want nothing", b, got)
		}
	}
}

// Answers around the size of a small packet arrive whole, and the pool counts right.
func TestAnswersOfAllSizes(t *testing.T) {
	for _, n := range []int{0, smallPacket - wire.HeaderSize, smallPacket - wire.HeaderSize + 1, wire.MaxPayload} {
		r := newRig(t, Config{})
		r.prove(alice)
		text := bytes.Repeat([]byte{'x'}, n)
		got := r.s.Receive(r.now, alice, encode(wire.Header{Token: tokenA, Seq: 3}, wire.Logout{}), &r.out)
		if err := Answer(r.s, got.Request, wire.Header{Token: tokenA}, wire.BoardUpdate{FEN: text}); err != nil {
			t.Fatal(err)
		}
		r.gate++
		r.s.Finish(got.Request, r.gate)
		r.s.Release(r.now, r.gate, &r.out)
		_, b := r.out.At(r.out.Len() - 1)
		if _, m, err := wire.Decode(b); err != nil || !bytes.Equal(m.(*wire.BoardUpdate).FEN, text) {
			t.Errorf("%d bytes: got %d, %v", n, len(b), err)
		}
		r.wait(time.Hour)
		if r.s.pool.held != 0 {
			t.Errorf("%d bytes: the pool holds %d in the end", n, r.s.pool.held)
		}
		for _, k := range r.s.pool.small {
			if cap(k.buf) != smallPacket {
				t.Errorf("a small packet has %d bytes", cap(k.buf))
			}
		}
		for _, k := range r.s.pool.large {
			if cap(k.buf) != wire.MaxPacket {
				t.Errorf("a large packet has %d bytes", cap(k.buf))
			}
		}
	}
}
