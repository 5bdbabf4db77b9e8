package session

import (
	"crypto/ed25519"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble"
)

func TestChallenge(t *testing.T) {
	private := ed25519.NewKeyFromSeed(counting(1, 32))
	key := wamble.PublicKey(private.Public().(ed25519.PublicKey))
	other, home := wamble.PublicKey{1}, netip.MustParseAddr("192.0.2.1")
	sign := func(s *Session, text [32]byte) [64]byte {
		m := wamble.LoginMessage(key, s.Token(), text)
		return [64]byte(ed25519.Sign(private, m[:]))
	}
	for _, tc := range []struct {
		name string
		do   func(r *rig, s *Session) error
		want error
	}{
		{"right", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, nil},
		{"at the last moment", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			r.after(30 * time.Second)
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, nil},
		{"too late", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			r.after(30*time.Second + time.Microsecond)
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, ErrLogin},
		{"none pending", func(r *rig, s *Session) error { return r.Prove(r.now, s, home, key, sign(s, [32]byte{}), "") }, ErrLogin},
		{"another key", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, other)
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, ErrLogin},
		{"bad signature", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			signature := sign(s, c)
			signature[5] ^= 1
			return r.Prove(r.now, s, home, key, signature, "")
		}, ErrLogin},
		{"used up by a failure", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			r.Prove(r.now, s, home, key, [64]byte{}, "")
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, ErrLogin},
		{"used up by success", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			if err := r.Prove(r.now, s, home, key, sign(s, c), ""); err != nil {
				return err
			}
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, ErrLogin},
		{"replaced", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			r.Challenge(r.now, s, key)
			return r.Prove(r.now, s, home, key, sign(s, c), "")
		}, ErrLogin},
		{"of another session", func(r *rig, s *Session) error {
			c, _ := r.Challenge(r.now, s, key)
			return r.Prove(r.now, r.heard(), home, key, sign(s, c), "")
		}, ErrLogin},
		{"no key", func(r *rig, s *Session) error {
			_, err := r.Challenge(r.now, s, wamble.PublicKey{})
			return err
		}, ErrLogin},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			if err := tc.do(r, r.heard()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestLink(t *testing.T) {
	key := wamble.PublicKey{1}
	r := newRig(t, nil)
	a, b := r.heard(), r.heard()
	a.BeginGame(false)
	r.said = nil
	if err := r.Link(r.now, a, key, nil, &r.said); err != nil {
		t.Fatal(err)
	}
	r.expect("link 1 to 1 h_ rated 1200")
	i := a.Identity()
	if h := i.Handle(); len(h) != 14 || strings.Trim(h[2:], "0123456789abcdef") != "" || i.Key() != key || i.ID() != 1 {
		t.Errorf("handle %q, key %x, number %d", h, i.Key(), i.ID())
	}
	// A second session of the key, before the store has the first.
	b.BeginGame(true)
	if err := r.Link(r.now, b, key, nil, &r.said); err != nil {
		t.Fatal(err)
	}
	r.expect("link 2 to 1 h_ rated 1200")
	if b.Identity() != i || r.Identity(key) != i {
		t.Error("two identities of one key")
	}
	if err := r.Link(r.now, b, key, nil, &r.said); err != nil {
		t.Fatal(err)
	}
	r.expect()
	b.BeginGame(true)
	r.Rate(b.ID(), wamble.PublicKey{}, -10)
	r.Rate(0, key, -2.5)
	if got, want := a.Games(), (Games{All: 2, Chess960: 1}); got != want || r.Rating(a) != 1187.5 {
		t.Errorf("got %+v rated %v, want %+v", got, r.Rating(a), want)
	}
	// Another key.
	stored := &wamble.Player{ID: 77, Key: wamble.PublicKey{2}, Handle: "anna",
		Stats: wamble.Stats{Score: 10, Rating: 1500, Games: 20}}
	if err := r.Link(r.now, b, stored.Key, stored, &r.said); err != nil {
		t.Fatal(err)
	}
	r.expect("link 2 to 77 an rated 1500")
	if got := b.Games(); got.All != 20 || r.Rating(b) != 1500 || r.Rating(a) != 1187.5 {
		t.Errorf("got %+v rated %v, the first %v", got, r.Rating(b), r.Rating(a))
	}
}

func TestAnonymousSession(t *testing.T) {
	r := newRig(t, nil)
	s := r.heard()
	s.BeginGame(false)
	r.Rate(s.ID(), wamble.PublicKey{}, 30)
	if s.Games().All != 1 || r.Rating(s) != 1200 {
		t.Errorf("got %+v rated %v", s.Games(), r.Rating(s))
	}
	s.trust = int32(4)
	s.SetLastBoard(9)
	if s.Trust() != 4 || s.LastBoard() != 9 {
		t.Errorf("trust %d, left %d", s.Trust(), s.LastBoard())
	}
}

func TestAdmittedIdentity(t *testing.T) {
	r := newRig(t, nil)
	key := wamble.PublicKey{1}
	stored := &wamble.Session{ID: 5, Token: wamble.Token{5}.Hash(), Player: 3, Key: key, Handle: "anna",
		LastSeen: r.now, Stats: wamble.Stats{Score: 1, Rating: 1300, Games: 2}}
	player := &wamble.Player{ID: 3, Key: key, Handle: "anna", Stats: wamble.Stats{Score: 9, Rating: 1300, Games: 8}}
	s, err := r.Admit(r.now, wamble.Token{5}, stored, player, r.holds)
	if err != nil {
		t.Fatal(err)
	}
	if s.Games().All != 8 || r.Rating(s) != 1300 || s.Identity().Handle() != "anna" {
		t.Errorf("got %+v rated %v", s.Games(), r.Rating(s))
	}
	// Without the player the session's own counters are used, with a rating.
	other := &wamble.Session{ID: 6, Token: wamble.Token{6}.Hash(), Player: 4, Key: wamble.PublicKey{2}, LastSeen: r.now,
		Stats: wamble.Stats{Games: 2}}
	s, err = r.Admit(r.now, wamble.Token{6}, other, nil, r.holds)
	if err != nil {
		t.Fatal(err)
	}
	if s.Games().All != 2 || r.Rating(s) != 1200 {
		t.Errorf("got %+v rated %v", s.Games(), r.Rating(s))
	}
	check(t, r.Table)
}

// An identity leaves memory only when the store has it.
func TestIdentityFades(t *testing.T) {
	key := wamble.PublicKey{1}
	for _, tc := range []struct {
		name  string
		leave func(r *rig, s *Session)
		until uint64
	}{
		{"goodbye", func(r *rig, s *Session) { r.Goodbye(r.now, s) }, 7},
		{"logout", func(r *rig, s *Session) { r.Logout(r.now, s, silence{}) }, 8}, // the message of the logout itself
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.heard()
			if err := r.Link(r.now, s, key, nil, silence{}); err != nil {
				t.Fatal(err)
			}
			r.Wrote(s, 7)
			tc.leave(r, s)
			r.Applied(tc.until - 1)
			if r.Identity(key) == nil {
				t.Error("forgotten too early")
			}
			check(t, r.Table)
			r.Applied(tc.until)
			if r.Identity(key) != nil {
				t.Error("not forgotten")
			}
			check(t, r.Table)
		})
	}
}

func TestIdentityIsUsedAgain(t *testing.T) {
	key := wamble.PublicKey{1}
	r := newRig(t, nil)
	s := r.heard()
	if err := r.Link(r.now, s, key, nil, silence{}); err != nil {
		t.Fatal(err)
	}
	r.Wrote(s, 7)
	i := s.Identity()
	r.Logout(r.now, s, silence{})
	again := r.heard()
	if err := r.Link(r.now, again, key, nil, silence{}); err != nil {
		t.Fatal(err)
	}
	r.Applied(100)
	if again.Identity() != i || r.Identity(key) != i || len(r.unused) != 0 {
		t.Error("another identity")
	}
	check(t, r.Table)
}

func TestNoNumberForAPlayer(t *testing.T) {
	r := newRig(t, nil)
	r.ids.Player = func() (wamble.PlayerID, bool) { return 0, false }
	s := r.heard()
	r.said = nil
	if err := r.Link(r.now, s, wamble.PublicKey{1}, nil, &r.said); !errors.Is(err, ErrNoID) {
		t.Errorf("got %v", err)
	}
	r.expect()
	if s.Identity() != nil {
		t.Error("it has an identity")
	}
}
