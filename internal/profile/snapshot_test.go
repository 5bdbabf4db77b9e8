package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/wire"
)

// handOver lets another profile, with the same random numbers, adopt the state of r's, and
// returns a rig around it that shares the store.
func handOver(t testing.TB, r *rig) *rig {
	t.Helper()
	state, err := r.p.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	next := &rig{t: t, now: r.now, store: r.store, options: r.options, seq: r.seq}
	next.options.Now = r.now
	next.p = New(next.options)
	next.step(&Adopt{Data: state})
	clear(state) // the profile no longer reads it
	if len(next.out.Troubles) > 0 {
		t.Fatal(next.out.Troubles)
	}
	chance, err := r.p.randomness.source.MarshalBinary()
	if err == nil {
		err = next.p.randomness.source.UnmarshalBinary(chance)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestAdopt: a profile that adopted the state of another answers the same, byte
// for byte.
func TestAdopt(t *testing.T) {
	old := newRig(t, "(def min-boards 6) (def reservation-timeout 100)")
	// Numbers for hours at any rate: the rate of use is not part of a state.
	for _, s := range []wamble.Sequence{wamble.BoardIDs, wamble.SessionIDs} {
		old.step(&Leased{Sequence: s, Blocks: []wamble.Block{{First: 1 << 20, Count: 1 << 17}}})
	}
	tokens := map[int]wamble.Token{}
	boards := map[int]wamble.BoardID{}
	for n := range 4 {
		tokens[n], boards[n] = old.join(n + 1)
	}
	old.send(peerAt(1), movePacket(tokens[0], boards[0], 2, "e2e4"))
	old.wait(3 * time.Second)
	old.took()
	missing := old.last
	next := handOver(t, old)
	if got, want := next.p.Gauges(), old.p.Gauges(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := next.p.Stats().Moves, uint64(1); got != want {
		t.Errorf("the counters have %d moves, want %d", got, want)
	}
	say := func(what string, inputs ...Input) {
		t.Helper()
		var said [2]string
		for i, r := range []*rig{old, next} {
			r.step(inputs...)
			said[i] = textOf(&r.out)
		}
		if said[0] != said[1] {
			t.Errorf("%s: the answers differ: %s, %s", what, said[0], said[1])
		}
		old.settle()
		next.settle()
		if got, want := next.took(), old.took(); got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	packet := func(n int, b []byte) Input { return &Packet{Peer: peerAt(n), Data: b} }
	say("the same move again", packet(1, movePacket(tokens[0], boards[0], 2, "e2e4")))
	say("a move", packet(2, movePacket(tokens[1], boards[1], 2, "g1f3")))
	say("an ACK that was missing", packet(1, ackPacket(tokens[0], missing)))
	say("from another address", packet(9, legalPacket(tokens[2], boards[2], 2, 12)))
	say("a new player", packet(7, helloPacket(wamble.Token{}, 1)))
	for range 40 {
		old.now = old.now.Add(7 * time.Second)
		next.now = old.now
		say("time passes", &Tick{})
	}
}

// textOf is everything in an output.
func textOf(out *Output) string {
	var b strings.Builder
	for i := range out.Packets.Len() {
		to, packet := out.Packets.At(i)
		fmt.Fprintf(&b, "%v %x\n", to, packet)
	}
	for i := range out.Frames.Len() {
		fmt.Fprintf(&b, "%x\n", out.Frames.At(i))
	}
	fmt.Fprintln(&b, out.DurableIndex, out.Loads, out.Leases, out.Next)
	return b.String()
}

// TestAdoptPolicy: the host's commands still hold.
func TestAdoptPolicy(t *testing.T) {
	old := newRig(t, "(def min-boards 2)")
	for _, b := range []Ban{
		{Whom: Target{Token: hashOf(wamble.Token{5})}, Text: "rude"},
		{Whom: Target{Key: wamble.PublicKey{6}}, Until: epoch.Add(time.Hour)},
		{Whom: Target{Net: netip.MustParsePrefix("192.0.2.0/24")}, Text: "a flood"},
	} {
		old.step(&b)
	}
	old.step(&SetBrownout{Brownout: Brownout{NoPredictions: true}})
	next := handOver(t, old)
	if got, want := next.p.brownout, old.p.brownout; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := next.p.policy, old.p.policy; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestAdoptOlderPolicy: the section of a version that wrote fields which this one
// does not know is read all the same. It held tokens, not their hashes.
func TestAdoptOlderPolicy(t *testing.T) {
	type row struct {
		Notice   wire.NoticeType
		Text     string
		Whom     Target
		Until    time.Time
		Brownout Brownout
		Board    wamble.BoardID
	}
	state, err := json.Marshal([]row{{Brownout: Brownout{NoPredictions: true}},
		{Text: "rude", Whom: Target{Token: wamble.TokenHash{5}}}})
	if err != nil {
		t.Fatal(err)
	}
	var a adoption
	if err := loadPolicy(&a, state); err != nil {
		t.Fatal(err)
	}
	bans := a.policy.Bans.All()
	if !a.brownout.NoPredictions || len(bans) != 1 || bans[0].Token != hashOf(wamble.Token{5}) ||
		bans[0].Reason != "rude" {
		t.Errorf("got %+v, %+v", a.brownout, bans)
	}
}

// TestAdoptWaiting: a request that waits for the store is asked again by the
// next process, and answered once.
func TestAdoptWaiting(t *testing.T) {
	old := newRig(t, "(def min-boards 2)")
	old.store.sessions[91] = &wamble.Session{ID: 91, Token: hashOf(wamble.Token{8}), LastSeen: epoch}
	expect(t, old.send(peerAt(3), helloPacket(wamble.Token{8}, 1)), "")
	next := handOver(t, old)
	if len(next.loads) != 1 || next.loads[0].Token != (wamble.Token{8}) || next.loads[0].ID == old.loads[0].ID {
		t.Fatalf("got loads %+v", next.loads)
	}
	next.answerLoads()
	if got := next.took(); strings.Count(got, "SERVER_HELLO") != 1 || strings.Count(got, "ACK 1") != 1 {
		t.Errorf("got %s", got)
	}
}

// TestSnapshotHeld: while something is not durable a snapshot is refused.
func TestSnapshotHeld(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	token, id := r.join(1)
	r.stuck = true
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	if _, err := r.p.Snapshot(nil); !errors.Is(err, link.ErrHeld) {
		t.Errorf("got %v, want %v", err, link.ErrHeld)
	}
	starting := New(r.options)
	if _, err := starting.Snapshot(nil); err == nil {
		t.Error("a profile that has not begun has a snapshot")
	}
}

// TestAdoptRefuses: a state that cannot be adopted changes nothing.
func TestAdoptRefuses(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	r.join(1)
	state, err := r.p.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(name string, state []byte) {
		t.Helper()
		p := New(r.options)
		var out Output
		p.Step(r.now, []Input{&Adopt{Data: state}}, &out)
		if len(out.Troubles) != 1 || !errors.Is(out.Troubles[0], ErrState) {
			t.Errorf("%s: got %v", name, out.Troubles)
		}
		if g := p.Gauges(); !g.Starting || g.Boards != 0 || g.Players != 0 {
			t.Errorf("%s: it became %+v", name, g)
		}
	}
	for n := range state {
		refuse("cut", state[:n])
	}
	refuse("another version", bytes.Replace(state, []byte("profile 1"), []byte("profile 2"), 1))
	refuse("a section that nobody knows", bytes.Replace(state, []byte("\x04seen"), []byte("\x04bean"), 1))
	refuse("a section twice", append(bytes.Clone(state), "\x04seen\x00\x00\x00\x00"...))
	r.step(&Adopt{Data: state})
	if len(r.out.Troubles) != 1 || r.p.boards.Len() != 3 {
		t.Errorf("a profile that runs adopted a state: %v", r.out.Troubles)
	}
}

// FuzzAdopt: no bytes make it panic, and what is adopted can be handed on.
func FuzzAdopt(f *testing.F) {
	r := newRig(f, "(def min-boards 2)")
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	state, err := r.p.Snapshot(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Fuzz(func(t *testing.T, state []byte) {
		p := New(r.options)
		var out Output
		p.Step(r.now, []Input{&Adopt{Data: state}}, &out)
		if len(out.Troubles) > 0 {
			return
		}
		for range 8 {
			p.Step(r.now.Add(time.Minute), []Input{&Packet{Peer: peerAt(5), Data: helloPacket(wamble.Token{}, 1)}},
				&out)
			if out.DurableIndex != 0 {
				p.Step(r.now, []Input{&Durable{Index: out.DurableIndex, Seq: 1}}, &out)
			}
		}
		if _, err := p.Snapshot(nil); err != nil && !errors.Is(err, link.ErrHeld) {
			t.Error(err)
		}
	})
}
