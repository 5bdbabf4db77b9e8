package link

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// world runs one seed and returns everything the server sent. Interrupted, the server is
// repeatedly replaced by its restored self, with another epoch each time.
func world(t *testing.T, seed uint64, interrupted bool) (sent []byte, swaps int) {
	n := newNetwork(seed, 3)
	n.log = true
	n.server.SetConfig(Config{SessionTimeout: time.Minute, TokenRate: 20, HostRate: 100, NetworkBudget: 300})
	for i, c := range n.clients {
		n.after(0, c.sayHello)
		live(n, c, wamble.BoardID(1000*(i+1)))
	}
	turns := 0
	n.onTurn = func() {
		turns++
		if !interrupted || turns%7 != 0 || n.server.Held() > 0 || n.server.Size().Requests > 0 {
			return
		}
		state, err := n.server.Snapshot(n.now+n.clock, nil)
		if err != nil {
			t.Fatalf("snapshot: %v", err)
		}
		n.clock += time.Duration(turns) * time.Hour / 7
		before := n.server.Size()
		if n.server, err = Restore(n.server.cfg, n.now+n.clock, state); err != nil {
			t.Fatalf("restore: %v", err)
		}
		if got := n.server.Size(); got != before {
			t.Fatalf("restored server holds %+v, want %+v", got, before)
		}
		swaps++
	}
	n.run(4 * time.Minute)
	n.sent = append(n.sent, []byte(statsText(n.server))...)
	return n.sent, swaps
}

func statsText(s *Endpoint) string {
	text := ""
	s.Stats().Each(func(name, _ string, v uint64) { text += name + " " + time.Duration(v).String() + "\n" })
	return text
}

func TestRestoredServerGoesOnAsIfNothingHappened(t *testing.T) {
	swaps := 0
	for seed := range uint64(20) {
		want, _ := world(t, seed, false)
		got, n := world(t, seed, true)
		swaps += n
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: the restored server sent something else:\n%s", seed, firstDifference(got, want))
		}
	}
	if swaps < 200 {
		t.Errorf("the server was replaced only %d times", swaps)
	}
}

func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return "got  " + string(g[i]) + "\nwant " + string(w[i])
		}
	}
	return "one is the beginning of the other"
}

func TestSnapshotRefusesHeldOutputs(t *testing.T) {
	r := newRig(t, Config{})
	r.handler = func(id Request, p *wire.Packet) { r.s.Finish(id, 7) }
	r.release = false
	r.send(alice, hello(wamble.Token{}, 1))
	if _, err := r.s.Snapshot(r.now, nil); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
	r.s.Release(r.now, 7, &r.out)
	if _, err := r.s.Snapshot(r.now, nil); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

// A request in flight is not part of the state: its repetition is new.
func TestSnapshotForgetsRequestsInFlight(t *testing.T) {
	r := newRig(t, Config{})
	r.handler = func(Request, *wire.Packet) {}
	r.send(alice, move(tokenA, 5))
	if v := r.send(alice, move(tokenA, 5)); v != Dropped {
		t.Fatalf("repetition in flight: got verdict %d, want Dropped", v)
	}
	state, err := r.s.Snapshot(r.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.s, err = Restore(Config{}, r.now, state); err != nil {
		t.Fatal(err)
	}
	if v := r.send(alice, move(tokenA, 5)); v != New {
		t.Errorf("repetition after restore: got verdict %d, want New", v)
	}
}

func someState(t testing.TB) []byte {
	n := newNetwork(3, 3)
	for i, c := range n.clients {
		n.after(0, c.sayHello)
		live(n, c, wamble.BoardID(1000*(i+1)))
	}
	n.run(8 * time.Second)
	n.server.Release(n.now, 1<<62, &n.out)
	state, err := n.server.Snapshot(n.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestRestoreRefusesDamage(t *testing.T) {
	state := someState(t)
	if _, err := Restore(Config{}, 0, state); err != nil {
		t.Fatalf("whole state: %v", err)
	}
	other := append([]byte(nil), state...)
	other[4] = stateVersion + 1
	cases := map[string][]byte{
		"empty":         nil,
		"magic":         append([]byte("WLNX"), state[4:]...),
		"version":       other,
		"cut":           state[:len(state)-1],
		"bytes left":    append(append([]byte(nil), state...), 0),
		"cut in a half": state[:len(state)/2],
	}
	for name, b := range cases {
		if _, err := Restore(Config{}, 0, b); !errors.Is(err, ErrState) {
			t.Errorf("%s: got %v, want ErrState", name, err)
		}
	}
}

// FuzzRestore looks for states that make a server panic, now or later.
func FuzzRestore(f *testing.F) {
	f.Add(someState(f))
	f.Fuzz(func(t *testing.T, state []byte) {
		s, err := Restore(Config{}, time.Hour, state)
		if err != nil {
			return
		}
		var out Batch
		s.Receive(time.Hour, alice, move(tokenA, 9), &out)
		s.Push(tokenA, move(tokenA, 0), 1)
		s.Due(2*time.Hour, &out)
		s.Release(2*time.Hour, 1, &out)
	})
}

// Connections end with the process; a token that also has other sessions keeps
// those.
func TestSnapshotLeavesOutStreams(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.send(streamAt("192.0.2.8:1", 1), hello(tokenA, 0))
	r.send(streamAt("192.0.2.8:2", 2), hello(tokenB, 0))
	r.took()
	state, err := r.s.Snapshot(r.now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.s, err = Restore(Config{}, r.now, state); err != nil {
		t.Fatal(err)
	}
	if got := r.s.Size(); got.Paths != 1 || got.Sessions != 1 {
		t.Errorf("the restored server holds %+v", got)
	}
	if !r.s.Linked(tokenA) || r.s.Linked(tokenB) {
		t.Errorf("tokenA linked: %v, tokenB linked: %v", r.s.Linked(tokenA), r.s.Linked(tokenB))
	}
	r.send(alice, move(tokenA, 3))
	r.wait(200 * time.Millisecond)
	r.sees("ACK 3, BOARD_UPDATE 1")
}
