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

// Gates do not go down: what was finished later does not overtake.
func TestGatesDoNotGoDown(t *testing.T) {
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

// A push in fragments is paced by ACKs like any bundle; an unreliable one is
// sent as a whole.
func TestPushPayload(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	r.took()
	h := wire.Header{Ctrl: wire.CtrlProfilesList, Token: tokenA}
	if n, err := r.s.PushPayload(tokenA, h, make([]byte, 2000), r.gate); n != 1 || err != nil {
		t.Fatalf("pushed to %d, %v", n, err)
	}
	h.Flags = wire.FlagUnreliable
	if n, err := r.s.PushPayload(tokenA, h, make([]byte, 2000), r.gate); n != 1 || err != nil {
		t.Fatalf("pushed to %d, %v", n, err)
	}
	r.s.Release(r.now, r.gate, &r.out)
	r.sees("PROFILES_LIST 2 fragment, PROFILES_LIST 0 unreliable, PROFILES_LIST 0 unreliable")
	r.send(alice, ack(tokenA, 2))
	r.sees("PROFILES_LIST 3 fragment")
}

// Bundles follow each other, because a client joins one transfer at a time; other
// packets do not wait for them.
func TestBundlesFollowEachOther(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, terms(tokenA, 3))
	r.send(alice, terms(tokenA, 4))
	r.send(alice, move(tokenA, 5))
	r.sees("ACK 3, PROFILE_TOS_DATA 1, ACK 4, ACK 5, BOARD_UPDATE 7")
	for seq := uint32(1); seq <= 6; seq++ {
		r.send(alice, ack(tokenA, seq))
	}
	r.sees("PROFILE_TOS_DATA 2, PROFILE_TOS_DATA 3, PROFILE_TOS_DATA 4, PROFILE_TOS_DATA 5, PROFILE_TOS_DATA 6")
	r.send(alice, ack(tokenA, 7))
	r.wait(time.Minute)
	r.sees("")
}

// A given-up bundle makes way for the next.
func TestBundleGivenUp(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, terms(tokenA, 3))
	r.send(alice, terms(tokenA, 4))
	r.took()
	r.wait(10 * time.Second)
	r.sees("PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 4, PROFILE_TOS_DATA 4, PROFILE_TOS_DATA 4")
	if got := r.s.Size().PacketBytes; got != 0 {
		t.Errorf("%d bytes of packets left", got)
	}
}

// ReplayTTL below zero keeps nothing; the answer itself, fragments too, is sent
// all the same.
func TestNoReplay(t *testing.T) {
	r := newRig(t, Config{ReplayTTL: -1})
	r.prove(alice)
	r.send(alice, terms(tokenA, 3))
	r.send(alice, ack(tokenA, 1))
	r.sees("ACK 3, PROFILE_TOS_DATA 1, PROFILE_TOS_DATA 2")
	r.wait(10 * time.Second)
	r.took()
	r.send(alice, terms(tokenA, 3))
	r.sees("ACK 3")
}

// Eight answers are kept; the ninth replaces the oldest.
func TestEightAnswersAreKept(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	for seq := uint32(3); seq < 12; seq++ {
		r.send(alice, move(tokenA, seq))
		r.send(alice, ack(tokenA, seq-2))
	}
	r.took()
	for seq := uint32(3); seq < 12; seq++ {
		r.send(alice, move(tokenA, seq))
	}
	want := "ACK 3"
	for seq := uint32(4); seq < 12; seq++ {
		want += ", ACK " + itoa(seq) + ", BOARD_UPDATE " + itoa(seq-2)
	}
	r.sees(want)
}

// SPECTATE_UPDATE is repeated until its ACK, but not kept.
func TestSpectateIsNotKept(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	stop := encode(wire.Header{Token: tokenA, Seq: 3}, wire.SpectateStop{})
	r.send(alice, stop)
	r.wait(100 * time.Millisecond)
	r.sees("ACK 3, SPECTATE_UPDATE 1, SPECTATE_UPDATE 1")
	r.send(alice, ack(tokenA, 1))
	r.send(alice, stop)
	r.sees("ACK 3")
}

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

// When packets take all the memory they may, they are sent once and not kept.
func TestCrowded(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.s.SetConfig(Config{MaxPacketBytes: 1})
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3, BOARD_UPDATE 1")
	r.wait(time.Minute)
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3")
	if got := r.s.Size().PacketBytes; got != 0 {
		t.Errorf("%d bytes of packets left", got)
	}
}

// The counter of a server wraps to 1 above 2³²−1001.
func TestNumberWraps(t *testing.T) {
	e := &endpoint{out: lastSeq}
	if a, b := e.nextSeq(), e.nextSeq(); a != lastSeq || b != 1 {
		t.Errorf("got %d, %d, want %d, 1", a, b, uint32(lastSeq))
	}
}

// Under load something is always held; the queue of outputs stays short.
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
	if got := cap(r.s.held.items); got > 8 {
		t.Errorf("room for %d outputs, at most 2 were held", got)
	}
}

// An address that is forgotten while its request is in flight gets nothing, and
// nothing is left of it.
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

// Every copy of a packet has the same bytes: repeated by a timer, and replayed.
func TestCopiesAreIdentical(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, move(tokenA, 3))
	r.wait(1900 * time.Millisecond)
	r.send(alice, move(tokenA, 3))
	var first []byte
	copies := 0
	for i := range r.out.Len() {
		_, b := r.out.At(i)
		if wire.Control(b[0]) != wire.CtrlBoardUpdate {
			continue
		}
		if copies++; first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Errorf("copy %d differs:\n%x\n%x", copies, b, first)
		}
	}
	if copies != 4 {
		t.Errorf("%d copies, want 3 and one replayed", copies)
	}
}

// What only servers send is dispatched, acknowledged and nothing else; what is
// not allowed without a token, unknown or malformed is dropped without a word.
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

// What does not fit one packet, or must not, travels in fragments.
func TestAnswerChoosesFragments(t *testing.T) {
	cases := []struct {
		name   string
		answer func(s *Server, id Request) error
		want   string
	}{
		{"short list", func(s *Server, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.ProfilesList{Names: make(wire.Text, 89)})
		}, "ACK 3, PROFILES_LIST 1"},
		{"list over 89 bytes", func(s *Server, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.ProfilesList{Names: make(wire.Text, 90)})
		}, "ACK 3, PROFILES_LIST 1 fragment"},
		{"empty reservations", func(s *Server, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.ActiveReservationsData{})
		}, "ACK 3, ACTIVE_RESERVATIONS_DATA 1 fragment"},
		{"over 1200 bytes", func(s *Server, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.BoardUpdate{FEN: make(wire.Text, 1201)})
		}, "ACK 3, BOARD_UPDATE 1 fragment"},
		{"over 1200 bytes, may not", func(s *Server, id Request) error {
			if Answer(s, id, wire.Header{Token: tokenA}, wire.LoginSuccess{FEN: make(wire.Text, 1201)}) == nil {
				t.Errorf("LOGIN_SUCCESS was cut into fragments")
			}
			return nil
		}, "ACK 3"},
		{"over 1 MiB", func(s *Server, id Request) error {
			if Answer(s, id, wire.Header{Token: tokenA}, wire.ProfileTOSData{Terms: make(wire.Text, 1<<20+1)}) == nil {
				t.Errorf("more than 1 MiB was accepted")
			}
			return nil
		}, "ACK 3"},
	}
	for _, c := range cases {
		r := newRig(t, Config{})
		r.prove(alice)
		r.handler = func(id Request, _ *wire.Packet) {
			if err := c.answer(r.s, id); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			r.s.Finish(id, 0)
		}
		r.send(alice, move(tokenA, 3))
		r.sees(c.want)
		if r.wait(time.Minute); r.s.Size().PacketBytes != 0 {
			t.Errorf("%s: %d bytes of packets left", c.name, r.s.Size().PacketBytes)
		}
	}
}
