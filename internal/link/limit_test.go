package link

import (
	"testing"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

func TestRateOfAToken(t *testing.T) {
	r := newRig(t, Config{TokenRate: 3})
	r.prove(alice)
	r.wait(time.Second)
	for seq := uint32(3); seq < 6; seq++ {
		r.send(alice, move(tokenA, seq))
	}
	r.took()
	if got := r.send(alice, move(tokenA, 6)); got != Limited {
		t.Errorf("fourth request: got verdict %d, want Limited", got)
	}
	r.sees("ERROR 0 unreliable") // once
	r.send(alice, move(tokenA, 6))
	r.send(alice, move(tokenA, 3)) // duplicates count
	r.sees("")
	r.send(bob, move(tokenB, 1))
	if got := r.ran[len(r.ran)-1]; got != "PLAYER_MOVE 1" {
		t.Errorf("bob has to suffer for alice; last executed: %v", got)
	}
	r.wait(time.Second)
	r.took()
	if got := r.send(alice, move(tokenA, 6)); got != New {
		t.Errorf("the refused request, a second later: got verdict %d, want New", got)
	}
}

// The refusal of a flood names the token and code 1001, without a reason.
func TestRefusalOfAFlood(t *testing.T) {
	r := newRig(t, Config{TokenRate: 1})
	r.prove(alice)
	r.wait(time.Second)
	r.send(alice, move(tokenA, 3))
	r.out.Reset()
	r.send(alice, move(tokenA, 4))
	_, b := r.out.At(0)
	h, m, err := wire.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	refusal, ok := m.(*wire.Error)
	if !ok || refusal.Code != wamble.AccessDenied || len(refusal.Reason) != 0 || h.Token != tokenA || h.Seq != 0 ||
		!h.Flags.Unreliable() {
		t.Errorf("got %+v %+v", h, m)
	}
}

// Requests without a token count for their IP address, whatever the port; those of another
// address are not affected.
func TestRateOfAnonymous(t *testing.T) {
	r := newRig(t, Config{TokenRate: 2})
	list := encode(wire.Header{Seq: 1}, wire.ListProfiles{})
	want := []Verdict{New, New, Limited}
	for i, w := range want {
		if got := r.send(peerAt("192.0.2.1:700"+itoa(uint32(i))), list); got != w {
			t.Errorf("request %d: got verdict %d, want %d", i, got, w)
		}
	}
	if got := r.send(bob, list); got != New {
		t.Errorf("bob: got verdict %d, want New", got)
	}
	// A hello counts for the address even with a token, or inventing tokens
	// would open fresh counters.
	if got := r.send(alice, hello(tokenB, 9)); got != Limited {
		t.Errorf("hello with a token: got verdict %d, want Limited", got)
	}
}

func TestRateOfAHost(t *testing.T) {
	r := newRig(t, Config{HostRate: 2})
	want := []Verdict{New, New, Limited, Limited}
	for i, w := range want {
		if got := r.send(alice, move(wamble.Token{byte(i + 1)}, uint32(i+1))); got != w {
			t.Errorf("request %d: got verdict %d, want %d", i, got, w)
		}
	}
	// Streams count by the address of their connection, and an IPv6 subscriber by their /56.
	ws := []wamble.Peer{streamAt("192.0.2.9:1", 1), streamAt("192.0.2.9:2", 2), streamAt("192.0.2.9:3", 3)}
	six := []wamble.Peer{peerAt("[2001:db8::1]:1"), peerAt("[2001:db8:0:7::2]:1"), peerAt("[2001:db8:0:ff::3]:1")}
	for _, peers := range [][]wamble.Peer{ws, six} {
		for i, p := range peers {
			if got := r.send(p, move(wamble.Token{byte(9 + i)}, 1)); got != want[i] {
				t.Errorf("%v: got verdict %d, want %d", p, got, want[i])
			}
		}
	}
}

func TestRateBypass(t *testing.T) {
	r := newRig(t, Config{TokenRate: 1, Bypass: func(_ wamble.Peer, h wire.Header) bool { return h.Token == tokenB }})
	for seq := range uint32(5) {
		if got := r.send(bob, move(tokenB, seq)); got != New {
			t.Errorf("request %d: got verdict %d, want New", seq, got)
		}
	}
}

// A full table drops the least recently used counter instead of refusing everybody.
func TestFullTableOfCountersDeniesNobody(t *testing.T) {
	l := limiter{lru.New[limitKey, counter](4)}
	cfg := Config{TokenRate: 1}
	for i := range 100 {
		h := wire.Header{Ctrl: wire.CtrlPlayerMove, Token: wamble.Token{byte(i + 1)}}
		if got := l.check(0, &cfg, alice, &h, unproven); got != within {
			t.Errorf("token %d is refused", i)
		}
	}
}

// Datagrams whose sender may be forged spend neither the allowance of a proven session nor
// that of a connection at the same address.
func TestForgedDatagramsSpendNothingOfOthers(t *testing.T) {
	r := newRig(t, Config{TokenRate: 5, HostRate: 10})
	r.prove(alice)
	ws := streamAt("192.0.2.1:6000", 1)
	r.send(ws, hello(wamble.Token{}, 1))
	r.wait(2 * time.Second)
	list := encode(wire.Header{Seq: 1}, wire.ListProfiles{})
	for i := range 100 {
		forged := peerAt("192.0.2.1:" + itoa(uint32(20000+i)))
		r.send(forged, hello(wamble.Token{}, 1))
		r.send(forged, hello(wamble.Token{7, byte(i)}, 1))
		r.send(forged, move(wamble.Token{8, byte(i)}, 1))
		r.send(forged, list)
		r.send(alice, move(wamble.Token{9, byte(i)}, uint32(1000+i))) // alice's very address
	}
	if got := r.send(forgedLast, move(wamble.Token{8}, 1)); got != Limited {
		t.Errorf("the flood itself: got verdict %d, want Limited", got)
	}
	if got := r.send(alice, move(tokenA, 3)); got == Limited {
		t.Error("the proven player of the address is limited")
	}
	if got := r.send(ws, move(tokenB, 2)); got != New {
		t.Errorf("the connection from the address: got verdict %d, want New", got)
	}
	if got := r.send(streamAt("192.0.2.1:6001", 2), hello(wamble.Token{}, 1)); got != New {
		t.Errorf("a new connection from the address: got verdict %d, want New", got)
	}
	if got := r.send(peerAt("192.0.2.1:6002"), hello(tokenA, 9)); got != New {
		t.Errorf("the proven player at a new port: got verdict %d, want New", got)
	}
}

var forgedLast = peerAt("192.0.2.1:30000")
