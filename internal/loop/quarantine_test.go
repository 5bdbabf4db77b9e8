package loop

import (
	"strings"
	"testing"

	"wamble"
	"wamble/internal/profile"
	"wamble/wire"
)

// askFor is a packet that requests a profile's info.
func askFor(t *testing.T, token byte, seq uint32, board wamble.BoardID, name string) []byte {
	t.Helper()
	h := wire.Header{Token: wamble.Token{token, 0xab, 0xcd}, Seq: seq, Board: board}
	b, err := wire.Append(nil, h, &wire.GetProfileInfo{Name: wire.Text(name)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestQuarantine: a packet that has panicked twice is refused from every sender and under
// every number, and no other packet is.
func TestQuarantine(t *testing.T) {
	q := newQuarantine()
	if n := q.blame(askFor(t, 1, 1, 0, "poison")); n != 1 || q.refuses(askFor(t, 1, 1, 0, "poison")) {
		t.Errorf("after %d panics it is refused", n)
	}
	if n := q.blame(askFor(t, 2, 7, 0, "poison")); n != 2 {
		t.Errorf("got %d panics, want 2", n)
	}
	for _, c := range []struct {
		name   string
		packet []byte
		want   bool
	}{
		{"the same", askFor(t, 1, 1, 0, "poison"), true},
		{"another token and number", askFor(t, 9, 99, 0, "poison"), true},
		{"another payload", askFor(t, 1, 1, 0, "poisom"), false},
		{"another board", askFor(t, 1, 1, 5, "poison"), false},
		{"not a packet", []byte("poison"), false},
		{"nothing", nil, false},
	} {
		if got := q.refuses(c.packet); got != c.want {
			t.Errorf("%s: refused %v, want %v", c.name, got, c.want)
		}
	}
	if n := q.refused.Load(); n != 2 {
		t.Errorf("%d were counted, want 2", n)
	}
}

// TestQuarantineIsBounded: suspects are dropped for newer ones before refused packets are.
func TestQuarantineIsBounded(t *testing.T) {
	q := newQuarantine()
	bad := askFor(t, 1, 1, 0, "poison")
	q.blame(bad)
	q.blame(bad)
	for i := range 10 * maxSuspects {
		q.blame(askFor(t, 1, 1, wamble.BoardID(i), "once"))
	}
	if len(q.suspects) != maxSuspects || !q.refuses(bad) {
		t.Errorf("%d suspects, the packet that panicked twice is refused: %v", len(q.suspects), q.refuses(bad))
	}
	for i := range 2 * maxSuspects {
		b := askFor(t, 1, 1, wamble.BoardID(i), "twice")
		q.blame(b)
		q.blame(b)
	}
	if len(q.suspects) != maxSuspects || q.closed != maxSuspects {
		t.Errorf("%d suspects, %d refused, want %d of both", len(q.suspects), q.closed, maxSuspects)
	}
}

// TestRecentPackets: the newest packets are kept, as copies, and shown without
// tokens.
func TestRecentPackets(t *testing.T) {
	var r recentPackets
	packets := make([]profile.Packet, 3*lastPackets)
	for i := range packets {
		packets[i].Data = askFor(t, 1, uint32(i), 0, "x")
	}
	r.add(packets)
	last := &r.ring[(r.next-1)%lastPackets]
	clear(packets[len(packets)-1].Data)
	if h, err := wire.Peek(last.data[:last.size]); err != nil || h.Seq != uint32(len(packets)-1) ||
		r.next != lastPackets {
		t.Errorf("got packet %d of %d kept, %v", h.Seq, r.next, err)
	}
	if got := masked(last.data[:last.size]); strings.Contains(got, "abcd") ||
		!strings.Contains(got, strings.Repeat("ee", 16)) {
		t.Errorf("the token is shown: %s", got)
	}
	if got := masked([]byte{1, 2}); got != "0102" {
		t.Errorf("a short packet: %s", got)
	}
}
