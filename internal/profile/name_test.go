package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// named asks for a name, and returns the answer, in words.
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

// TestSetName: an identity chooses a unique name once a week; a handoff and a restart keep
// it.
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
		t.Errorf("the player is called %q", got)
	}
	expect(2, two, 22, "aNN", "taken") // the store does not have it yet
	r.apply()
	expect(2, two, 23, "ANN", "taken")
	expect(1, one, 24, "Annie", "again on 2026-03-08")
	expect(2, two, 24, "Bob", changed)

	r = handOver(t, r)
	if got := r.nameOf(one); got != "Ann" {
		t.Errorf("after a handoff the player is called %q", got)
	}
	expect(2, two, 25, "ann", "taken")
	r.restart()
	r.send(peerAt(1), statsPacket(one, 30))
	r.answerLoads()
	if got := r.nameOf(one); got != "Ann" {
		t.Errorf("after a restart the player is called %q", got)
	}
	r.now = r.now.Add(7*24*time.Hour + time.Minute)
	r.greet(9, 1)
	expect(1, one, 40, "anna", changed)
}

// TestRename: the host gives unique names, also such as no player may choose.
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
	if a, b := r.nameOf(one),
		r.nameOf(two); a != "Host" || !strings.HasPrefix(b, "h_") || r.p.Stats().Host.Renamed != 1 {
		t.Errorf("they are called %q and %q", a, b)
	}
	if got := r.store.players[standardSigner(1).key].Handle; got != "Host" {
		t.Errorf("the store says %q", got)
	}
	if got := r.named(1, one, 20, "Ann"); !strings.Contains(got, "again on") {
		t.Errorf("the player may choose another at once: %s", got)
	}
}

// TestSetNameBesideOthers: where another machine may give the same name away, the store
// decides whose it is, before anything is in a journal: one player has it, the other is told
// so. A player who was not told before their machine crashed may ask again. Outdated names of
// others in memory block no name.
func TestSetNameBesideOthers(t *testing.T) {
	store := newMemory()
	machine := func(shard int) *rig {
		r := &rig{t: t, now: epoch, store: store}
		r.options = Options{Config: configOf(t, "(def min-boards 4)"), Seed: [32]byte{byte(shard)}, Now: epoch,
			LeaseSize: 1 << 10, Shard: wamble.Shard{Index: shard, Of: 2}}
		r.p = New(r.options)
		r.boot()
		return r
	}
	a, b := machine(0), machine(1)
	var tokens [2]wamble.Token
	for i, r := range []*rig{a, b} {
		tokens[i], _ = r.join(1)
		r.login(peerAt(1), tokens[i], 10, standardSigner(byte(i+1)))
	}
	one, two := tokens[0], tokens[1]
	expect := func(r *rig, token wamble.Token, seq uint32, name, want string) {
		t.Helper()
		if got := r.named(1, token, seq, name); !strings.Contains(got, want) {
			t.Errorf("%s: answered by %s, want %s", name, got, want)
		}
	}
	const changed = "PLAYER_STATS_DATA"
	a.step(&Packet{Peer: peerAt(1), Data: namePacket(wire.SetName{Name: wire.Text("Ann")}, one, 20)})
	a.answerLoads() // not durable yet
	expect(b, two, 20, "aNN", "taken")
	if got := b.nameOf(two); !strings.HasPrefix(got, "h_") {
		t.Errorf("who was refused is called %q", got)
	}
	a.settle()
	a.took()
	if got := a.nameOf(one); got != "Ann" {
		t.Errorf("the player is called %q", got)
	}
	expect(a, one, 21, "Annie", "again on 2026-03-08")

	b.step(&Packet{Peer: peerAt(1), Data: namePacket(wire.SetName{Name: wire.Text("Bob")}, two, 21)})
	store.answerIdentity(b.loads[0], &Loaded{})
	b.restart() // before it has the answer
	b.greet(9, 1)
	expect(b, two, 30, "Bob", changed)
	if got := b.nameOf(two); got != "Bob" {
		t.Errorf("the player is called %q", got)
	}

	// The first player gets another name, of which a has received no event.
	a.apply()
	store.players[standardSigner(1).key].Handle = "Carl"
	third, _ := a.join(3)
	a.login(peerAt(3), third, 10, standardSigner(3))
	if got := a.named(3, third, 20, "Ann"); !strings.Contains(got, changed) {
		t.Errorf("a name that is free: %s", got)
	}
}
