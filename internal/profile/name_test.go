package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// named asks for a name, and returns what comes back, in words.
func (r *rig) named(n int, token wamble.Token, seq uint32, name string) string {
	r.t.Helper()
	return r.asks(peerAt(n), namePacket(wire.SetName{Name: wire.Text(name)}, token, seq))
}

// nameOf is the name of the identity of a token, as others see it.
func (r *rig) nameOf(token wamble.Token) string {
	s := r.p.sessions.Find(token)
	if s == nil || s.Identity() == nil {
		return ""
	}
	return s.Identity().Handle()
}

// TestSetName: an identity chooses a name once a week, which nobody else has; a handoff
// and a restart keep it.
func TestSetName(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	one, _ := r.join(1)
	two, _ := r.join(2)
	guest, _ := r.join(3)
	r.login(peerAt(1), one, 10, standardSigner(1))
	r.login(peerAt(2), two, 10, standardSigner(2))
	expect := func(n int, token wamble.Token, seq uint32, name, want string) {
		t.Helper()
		if got := r.named(n, token, seq, name); !strings.Contains(got, want) {
			t.Errorf("%s: answered by %s, want %s", name, got, want)
		}
	}
	const changed = "PLAYER_STATS_DATA"
	expect(3, guest, 20, "Ann", "log in first")
	expect(1, one, 20, "x", "3 to 20")
	expect(1, one, 21, "Admin", "reserved")
	expect(1, one, 22, "Ann", changed)
	if got := r.nameOf(one); got != "Ann" {
		t.Errorf("he is called %q", got)
	}
	expect(2, two, 22, "aNN", "taken") // the store does not have it yet
	r.apply()
	expect(2, two, 23, "ANN", "taken")
	expect(1, one, 24, "Annie", "again on 2026-03-08")
	expect(2, two, 24, "Bob", changed)

	r = handOver(t, r)
	if got := r.nameOf(one); got != "Ann" {
		t.Errorf("after a handoff he is called %q", got)
	}
	expect(2, two, 25, "ann", "taken")
	r.restart()
	r.send(peerAt(1), statsPacket(one, 30))
	r.answerLoads()
	if got := r.nameOf(one); got != "Ann" {
		t.Errorf("after a restart he is called %q", got)
	}
	r.now = r.now.Add(7*24*time.Hour + time.Minute)
	r.greet(9, 1)
	expect(1, one, 40, "anna", changed)
}

// TestRename: the host gives names that nobody else has, also such as nobody may choose.
func TestRename(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	one, _ := r.join(1)
	two, _ := r.join(2)
	r.login(peerAt(1), one, 10, standardSigner(1))
	r.login(peerAt(2), two, 10, standardSigner(2))
	r.step(&Rename{Key: standardSigner(1).key, Name: "Host"})
	r.step(&Rename{Key: standardSigner(2).key, Name: "host"})
	r.settle()
	r.apply()
	if a, b := r.nameOf(one), r.nameOf(two); a != "Host" || !strings.HasPrefix(b, "h_") || r.p.Stats().Host.Renamed != 1 {
		t.Errorf("they are called %q and %q", a, b)
	}
	if got := r.store.players[standardSigner(1).key].Handle; got != "Host" {
		t.Errorf("the store says %q", got)
	}
	if got := r.named(1, one, 20, "Ann"); !strings.Contains(got, "again on") {
		t.Errorf("he may choose another at once: %s", got)
	}
}
