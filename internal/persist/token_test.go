package persist

import (
	"context"
	"errors"
	"testing"
	"time"

	"wamble"
)

// counted answers Session from a map and counts the questions.
type counted struct {
	wamble.Queries
	rows  map[wamble.Token]wamble.Session
	err   error
	asked int
}

func (c *counted) Session(_ context.Context, t wamble.Token) (wamble.Session, error) {
	c.asked++
	if c.err != nil {
		return wamble.Session{}, c.err
	}
	s, ok := c.rows[t]
	if !ok {
		return s, wamble.ErrNotFound
	}
	return s, nil
}

func tokenOf(i int) wamble.Token { return wamble.Token{byte(i), byte(i >> 8), 1} }

func TestTokensAreCached(t *testing.T) {
	ctx := t.Context()
	anonymous, known := tokenOf(1), tokenOf(2)
	db := &counted{rows: map[wamble.Token]wamble.Session{
		anonymous: {ID: 11, Trust: 1},
		known:     {ID: 22, Trust: 7, Player: 5},
	}}
	tokens := NewTokens(db)
	now := noon
	read := func(name string, asked int, wantErr error, ask func() (int64, error), want int64) {
		t.Helper()
		got, err := ask()
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: got %d, %v, want %d, %v", name, got, err, want, wantErr)
		}
		if db.asked != asked {
			t.Errorf("%s: the database was asked %d times, want %d", name, db.asked, asked)
		}
	}
	session := func(tok wamble.Token) func() (int64, error) {
		return func() (int64, error) { id, err := tokens.Session(ctx, now, tok); return int64(id), err }
	}
	persistent := func(tok wamble.Token) func() (int64, error) {
		return func() (int64, error) { id, err := tokens.PersistentSession(ctx, now, tok); return int64(id), err }
	}
	trust := func(tok wamble.Token) func() (int64, error) {
		return func() (int64, error) { n, err := tokens.Trust(ctx, now, tok); return int64(n), err }
	}
	read("first", 1, nil, session(anonymous), 11)
	read("again", 1, nil, session(anonymous), 11)
	now = now.Add(CacheTTL)
	read("at the end of its time", 1, nil, session(anonymous), 11)
	now = now.Add(1)
	read("past its time", 2, nil, session(anonymous), 11)
	read("another kind of read", 3, nil, trust(known), 7)
	read("trust again", 3, nil, trust(known), 7)
	read("anonymous is not persistent", 4, wamble.ErrNotFound, persistent(anonymous), 11)
	read("known is", 5, nil, persistent(known), 22)
	db.rows[anonymous] = wamble.Session{ID: 11, Player: 6}
	read("a link is not seen yet", 5, wamble.ErrNotFound, persistent(anonymous), 11)
	tokens.Linked()
	read("a link is seen", 6, nil, persistent(anonymous), 11)

	down := errors.New("connection refused")
	db.err = down
	read("a failure", 7, down, session(tokenOf(9)), 0)
	db.err = nil
	read("is believed too", 7, down, session(tokenOf(9)), 0)
	now = now.Add(CacheTTL + 1)
	read("for its time", 8, wamble.ErrNotFound, session(tokenOf(9)), 0)
	db.err = context.Canceled
	read("giving up", 9, context.Canceled, session(tokenOf(10)), 0)
	db.err = nil
	read("is no answer", 10, wamble.ErrNotFound, session(tokenOf(10)), 0)
}

func TestTokensCreated(t *testing.T) {
	db := &counted{}
	tokens := NewTokens(db)
	tokens.Created(noon, tokenOf(1), 11, 0)
	tokens.Created(noon, tokenOf(2), 22, 3)
	ctx := t.Context()
	if id, err := tokens.Session(ctx, noon, tokenOf(1)); id != 11 || err != nil {
		t.Errorf("session: got %d, %v", id, err)
	}
	if _, err := tokens.PersistentSession(ctx, noon, tokenOf(1)); !errors.Is(err, wamble.ErrNotFound) {
		t.Errorf("persistent: got %v", err)
	}
	if id, err := tokens.PersistentSession(ctx, noon, tokenOf(2)); id != 22 || err != nil {
		t.Errorf("persistent: got %d, %v", id, err)
	}
	if n, err := tokens.Trust(ctx, noon, tokenOf(1)); n != 0 || err != nil {
		t.Errorf("trust: got %d, %v", n, err)
	}
	if db.asked != 0 {
		t.Errorf("the database was asked %d times, want 0", db.asked)
	}
}

// TestTokensMakeRoom fills a cache past its size: the newest 256 are kept.
func TestTokensMakeRoom(t *testing.T) {
	db := &counted{rows: map[wamble.Token]wamble.Session{}}
	for i := range CacheEntries + 1 {
		db.rows[tokenOf(i)] = wamble.Session{ID: wamble.SessionID(i + 1)}
	}
	tokens := NewTokens(db)
	ask := func(i int) {
		t.Helper()
		if id, err := tokens.Session(t.Context(), noon.Add(time.Duration(i)), tokenOf(i)); id != wamble.SessionID(i+1) || err != nil {
			t.Errorf("token %d: got %d, %v", i, id, err)
		}
	}
	for i := range CacheEntries + 1 {
		ask(i)
	}
	before := db.asked
	for i := 1; i <= CacheEntries; i++ {
		ask(i)
	}
	if db.asked != before {
		t.Errorf("%d of the newest %d were asked again", db.asked-before, CacheEntries)
	}
	ask(0)
	if db.asked != before+1 {
		t.Error("the oldest should have made room")
	}
	if n := len(tokens.sessions.index); n != CacheEntries {
		t.Errorf("the index has %d entries, want %d", n, CacheEntries)
	}
}
