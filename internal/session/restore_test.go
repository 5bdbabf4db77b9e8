package session

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"wamble"
)

// TestRestore: the holder of a board is restored, also past MaxPlayers, and is idle; an
// anonymous session that was away for too long has ended.
func TestRestore(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := defaultOptions()
	o.MaxPlayers = 1
	table := New(o, IDs{}, rand.NewChaCha8([32]byte{1}))
	for _, tc := range []struct {
		name   string
		stored wamble.Session
		want   error
	}{
		{"first", wamble.Session{ID: 1, Token: wamble.Token{1}.Hash(), LastSeen: now}, nil},
		{"past MaxPlayers", wamble.Session{ID: 2, Token: wamble.Token{2}.Hash(), LastSeen: now}, nil},
		{"again", wamble.Session{ID: 2, Token: wamble.Token{2}.Hash(), LastSeen: now}, nil},
		{"away for too long", wamble.Session{ID: 3, Token: wamble.Token{3}.Hash(), LastSeen: now.Add(-o.Expiration - time.Second)}, ErrEnded},
		{"with an identity", wamble.Session{ID: 4, Token: wamble.Token{4}.Hash(), Key: wamble.PublicKey{4}, LastSeen: now.Add(-o.Expiration - time.Second)}, nil},
		{"without a token", wamble.Session{ID: 5, LastSeen: now}, ErrEnded},
	} {
		s, err := table.Restore(now, &tc.stored, nil)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
		if err == nil && (s.ID() != tc.stored.ID || !s.Token().IsZero()) {
			t.Errorf("%s: got session %d with token %v", tc.name, s.ID(), s.Token())
		}
	}
	check(t, table)
	// A session whose token is shown is found by it from then on.
	if s := table.Find(wamble.Token{2}); s == nil || s.ID() != 2 || s.Token() != (wamble.Token{2}) ||
		table.Find(wamble.Token{2}) != s {
		t.Errorf("got %+v, want session 2", s)
	}
	if table.Find(wamble.Token{9}) != nil || table.Find(wamble.Token{}) != nil {
		t.Error("a token that nobody has finds a session")
	}
	check(t, table)
	if table.Len() != 3 || table.Present() != 0 {
		t.Errorf("got %d sessions, %d present; want 3, 0", table.Len(), table.Present())
	}
}

// TestTokenLifetime: a token of an identity expires when it was not used for Lifetime, and
// never without one.
func TestTokenLifetime(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		lifetime, silent time.Duration
		want             error
	}{{30 * day, 30 * day, nil}, {30 * day, 30*day + time.Microsecond, ErrEnded}, {0, 3650 * day, nil}} {
		r := newRig(t, func(o *Options) { o.Lifetime = tc.lifetime })
		stored := &wamble.Session{ID: 5, Token: wamble.Token{5}.Hash(), Player: 7, Key: wamble.PublicKey{7},
			LastSeen: r.now.Add(-tc.silent)}
		if _, err := r.Admit(r.now, wamble.Token{5}, stored, nil,
			func(wamble.SessionID) bool { return false }); err != tc.want {
			t.Errorf("%v of %v: got %v, want %v", tc.silent, tc.lifetime, err, tc.want)
		}
	}
}
