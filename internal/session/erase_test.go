package session

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"wamble"
)

// TestErase: the sessions of an identity end with it, and the store's answers about the key
// are ignored until the store has the erasure.
func TestErase(t *testing.T) {
	r := newRig(t, nil)
	key := wamble.PublicKey{7}
	a, b, other := r.hello(), r.hello(), r.hello()
	for s, k := range map[*Session]wamble.PublicKey{a: key, b: key, other: {8}} {
		if err := r.Link(r.now, s, k, nil, silence{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Of(key); len(got) != 2 || !slices.Contains(got, a) || !slices.Contains(got, b) {
		t.Fatalf("got %v, want two sessions", got)
	}
	var said said
	r.Erase(r.now, key, 0, &said)
	r.Erased(key, 5)
	if got, want := said, []string{"ERASE_PLAYER"}; !slices.Equal(got, want) {
		t.Errorf("said %v, want %v", got, want)
	}
	for _, s := range []*Session{a, b} {
		if r.Find(s.Token()) != nil || !r.Refused(s.Token()) {
			t.Error("a session goes on")
		}
	}
	if r.Find(other.Token()) == nil || other.Identity() == nil {
		t.Error("somebody else's session ended")
	}
	if r.Identity(key) != nil || len(r.Of(key)) != 0 || !r.Erasing(key) {
		t.Error("the identity is still there")
	}
	check(t, r.Table)
	// A session that the store still ties to the key.
	stored := &wamble.Session{ID: 90, Token: wamble.Token{9}.Hash(), Key: key, Player: 4, Handle: "h_old",
		LastSeen: r.now}
	if s, err := r.Admit(r.now, wamble.Token{9}, stored, nil, r.holds); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v, %v; want none", s, err)
	}
	r.Applied(4)
	if !r.Erasing(key) {
		t.Error("believed too early")
	}
	r.Applied(5)
	if r.Erasing(key) {
		t.Error("not believed, though the store has done it")
	}
	// A player who comes back with the key is a new one.
	again := r.hello()
	if err := r.Link(r.now, again, key, nil, silence{}); err != nil || again.Identity() == nil {
		t.Errorf("got %v, %+v", err, again.Identity())
	}
	check(t, r.Table)
}

func TestKick(t *testing.T) {
	r := newRig(t, nil)
	s := r.hello()
	if err := r.Link(r.now, s, wamble.PublicKey{7}, nil, silence{}); err != nil {
		t.Fatal(err)
	}
	token := s.Token()
	r.Kick(r.now, s)
	if r.Find(token) != nil || !r.Refused(token) {
		t.Error("the session goes on")
	}
	check(t, r.Table)
}

func TestAllIsInOrder(t *testing.T) {
	tb := busyTable(t)
	var a, b []wamble.Token
	for s := range tb.All() {
		a = append(a, s.Token())
	}
	for s := range tb.All() {
		b = append(b, s.Token())
		if len(b) == 5 {
			break
		}
	}
	if len(a) != tb.Len() || !slices.Equal(a[:5], b) {
		t.Errorf("got %d of %d, in another order the second time", len(a), tb.Len())
	}
}

// TestSignaturesAreBounded: their cost is bounded for each host and for all, and a host that
// tries all the time takes nothing from one that tries for the first time.
func TestSignaturesAreBounded(t *testing.T) {
	h := newHosts()
	now := epoch.UnixMicro()
	try := func(ip string, times, want int) {
		t.Helper()
		got := 0
		for range times {
			if h.mayVerify(now, netip.MustParseAddr(ip), 3) {
				got++
			}
		}
		if got != want {
			t.Errorf("%v: got %d signatures, want %d", ip, got, want)
		}
	}
	try("192.0.2.1", 10, 3)
	try("192.0.2.2", 10, 3)
	try("2001:db8::1", 10, 3) // one machine
	try("2001:db8::2", 10, 0) // has a whole network
	now += time.Minute.Microseconds()
	try("192.0.2.1", 10, 3)
	now += time.Minute.Microseconds()
	for i := range 4000 { // very many hosts that never rest
		for range 3 {
			h.mayVerify(now, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 3)
		}
	}
	if used, _ := h.all.Used(sinceEpoch(now), perMinute(maxSignatures)); used > maxSignatures/2+4000 {
		t.Errorf("%v signatures were verified", used)
	}
	try("192.0.2.9", 1, 1)
	if !h.mayVerify(now, netip.MustParseAddr("192.0.2.1"), 0) {
		t.Error("0 is a bound")
	}
}

func TestTerms(t *testing.T) {
	r := newRig(t, nil)
	s := r.hello()
	first, second := RevisionOf([32]byte{4}), RevisionOf([32]byte{8})
	if first == second || RevisionOf([32]byte{}) == 0 {
		t.Fatal("revisions are not told apart")
	}
	expect := func(rev Revision, accepted, known bool) {
		t.Helper()
		if a, k := s.Terms(rev); a != accepted || k != known {
			t.Errorf("got accepted %v, known %v; want %v, %v", a, k, accepted, known)
		}
	}
	expect(first, false, false)
	s.SetTerms(first, false)
	expect(first, false, true)
	s.SetTerms(first, true)
	expect(first, true, true)
	expect(second, false, false)
}
