package link

import (
	"testing"
	"time"

	"wamble/wire"
)

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

func TestNumberWraps(t *testing.T) {
	path := &path{out: lastSeq}
	if a, b := path.nextSeq(), path.nextSeq(); a != lastSeq || b != 1 {
		t.Errorf("got %d, %d, want %d, 1", a, b, uint32(lastSeq))
	}
}

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

func TestAnswerChoosesFragments(t *testing.T) {
	cases := []struct {
		name   string
		answer func(s *Endpoint, id Request) error
		want   string
	}{
		{"short list", func(s *Endpoint, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.ProfilesList{Names: make(wire.Text, 89)})
		}, "ACK 3, PROFILES_LIST 1"},
		{"list over 89 bytes", func(s *Endpoint, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.ProfilesList{Names: make(wire.Text, 90)})
		}, "ACK 3, PROFILES_LIST 1 fragment"},
		{"empty reservations", func(s *Endpoint, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.ActiveReservationsData{})
		}, "ACK 3, ACTIVE_RESERVATIONS_DATA 1 fragment"},
		{"over 1200 bytes", func(s *Endpoint, id Request) error {
			return Answer(s, id, wire.Header{Token: tokenA}, wire.BoardUpdate{FEN: make(wire.Text, 1201)})
		}, "ACK 3, BOARD_UPDATE 1 fragment"},
		{"over 1200 bytes, may not", func(s *Endpoint, id Request) error {
			if Answer(s, id, wire.Header{Token: tokenA}, wire.LoginSuccess{FEN: make(wire.Text, 1201)}) == nil {
				t.Errorf("LOGIN_SUCCESS was cut into fragments")
			}
			return nil
		}, "ACK 3"},
		{"over 1 MiB", func(s *Endpoint, id Request) error {
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
