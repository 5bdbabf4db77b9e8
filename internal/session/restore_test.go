package session

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"wamble"
)

// TestRestore: whoever holds a board is taken in, also past MaxPlayers, and is
// idle; an anonymous session that was away for too long is over.
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
		{"first", wamble.Session{ID: 1, Token: wamble.Token{1}, LastSeen: now}, nil},
		{"past MaxPlayers", wamble.Session{ID: 2, Token: wamble.Token{2}, LastSeen: now}, nil},
		{"again", wamble.Session{ID: 2, Token: wamble.Token{2}, LastSeen: now}, nil},
		{"away for too long", wamble.Session{ID: 3, Token: wamble.Token{3}, LastSeen: now.Add(-o.Expiration - time.Second)}, ErrOver},
		{"with an identity", wamble.Session{ID: 4, Token: wamble.Token{4}, Key: wamble.PublicKey{4}, LastSeen: now.Add(-o.Expiration - time.Second)}, nil},
		{"without a token", wamble.Session{ID: 5, LastSeen: now}, ErrOver},
	} {
		s, err := table.Restore(now, &tc.stored, nil)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
		if err == nil && (s.ID() != tc.stored.ID || table.Find(tc.stored.Token) != s) {
			t.Errorf("%s: got session %d", tc.name, s.ID())
		}
	}
	if table.Len() != 3 || table.Present() != 0 {
		t.Errorf("got %d sessions, %d present; want 3, 0", table.Len(), table.Present())
	}
}
