package profile

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/link"
)

// handedOver is what another process is given of a profile.
func handedOver(t testing.TB, p *Profile) (state []Input) {
	t.Helper()
	for slice, err := range p.HandOver(1 << 10) {
		if err != nil {
			t.Fatal(err)
		}
		state = append(state, &ResumeSlice{Data: bytes.Clone(slice)})
	}
	return append(state, &ResumeEnd{}, &Ready{})
}

// handOver lets another profile, with the same random numbers, adopt the state of r's, and
// returns a rig around it that shares the store.
func handOver(t testing.TB, r *rig) *rig {
	t.Helper()
	state := handedOver(t, r.p)
	next := &rig{t: t, now: r.now, store: r.store, options: r.options, seq: r.seq}
	next.options.Now = r.now
	next.p = New(next.options)
	next.step(state...)
	for _, in := range state {
		if in, ok := in.(*ResumeSlice); ok {
			clear(in.Data) // the profile no longer reads it
		}
	}
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

// TestAdoptBanned: bans that are applied again while a profile starts end no session, and hold.
func TestAdoptBanned(t *testing.T) {
	old := newRig(t, "(def min-boards 3)")
	token, _ := old.join(1)
	state := handedOver(t, old.p)
	ban := &Ban{Whom: Target{Net: netip.MustParsePrefix("10.0.0.1/32")}}
	next := &rig{t: t, now: old.now, store: old.store, options: old.options, seq: old.seq}
	next.options.Now = old.now
	next.p = New(next.options)
	next.step(slices.Insert(state, len(state)-1, Input(ban))...)
	if s := next.p.sessions.Find(token); s == nil || next.p.Stats().Host.Kicked != 0 {
		t.Errorf("the session %v, %d kicked", s, next.p.Stats().Host.Kicked)
	}
	expect(t, next.send(peerAt(1), helloPacket(token, 9)), "ACK 9",
		`ERROR 1001 "you are banned from this server" error.blocking`)
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

// TestHandOverHeld: while something is not durable nothing is handed over.
func TestHandOverHeld(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	token, id := r.join(1)
	r.stuck = true
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	for _, err := range r.p.HandOver(100) {
		if !errors.Is(err, link.ErrHeld) {
			t.Errorf("got %v, want %v", err, link.ErrHeld)
		}
	}
	for _, err := range New(r.options).HandOver(100) {
		if err == nil {
			t.Error("a profile that has not begun is handed over")
		}
	}
}

// TestAdoptRefuses: a profile does not run with a state that is not whole.
func TestAdoptRefuses(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	r.join(1)
	state := handedOver(t, r.p)
	refuse := func(name string, state []Input) {
		t.Helper()
		p := New(r.options)
		var out Output
		p.Step(r.now, state, &out)
		if len(out.Troubles) != 1 || !errors.Is(out.Troubles[0], ErrState) {
			t.Errorf("%s: got %v", name, out.Troubles)
		}
	}
	for i := range handoffSlices {
		name, slice := handoffSlices[i].name, state[i].(*ResumeSlice).Data
		refuse("without "+name, slices.Delete(slices.Clone(state), i, i+1))
		refuse("twice "+name, slices.Insert(slices.Clone(state), i, state[i]))
		if len(slice) > 1 {
			refuse("cut "+name, slices.Replace(slices.Clone(state), i, i+1, Input(&ResumeSlice{Data: slice[:len(slice)-1]})))
		}
	}
	refuse("a slice that nobody knows", slices.Insert(slices.Clone(state), 2, Input(&ResumeSlice{Data: []byte("?")})))
	refuse("no slice", slices.Insert(slices.Clone(state), 2, Input(&ResumeSlice{})))
	r.step(state...)
	if r.p.boards.Len() != 3 {
		t.Errorf("a profile that runs took over a state: %v", r.out.Troubles)
	}
}

// FuzzAdopt: no bytes make it panic, and what is adopted can be handed on.
func FuzzAdopt(f *testing.F) {
	r := newRig(f, "(def min-boards 2)")
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	state := handedOver(f, r.p)
	for i, in := range state[:len(state)-2] {
		f.Add(i, in.(*ResumeSlice).Data)
	}
	f.Fuzz(func(t *testing.T, at int, slice []byte) {
		p := New(r.options)
		var out Output
		state := slices.Clone(state)
		state[uint(at)%uint(len(state)-2)] = &ResumeSlice{Data: slice}
		p.Step(r.now, state, &out)
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
		for _, err := range p.HandOver(1 << 10) {
			if err != nil && !errors.Is(err, link.ErrHeld) {
				t.Error(err)
			}
		}
	})
}
