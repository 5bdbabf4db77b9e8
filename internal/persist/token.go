package persist

import (
	"context"
	"errors"
	"time"

	"wamble"
)

// The caches of the database document: entries for each kind of read, and how
// long each is believed. Failures are believed as long as successes, so that a
// database in trouble is not asked the same again and again.
const (
	CacheEntries = 256
	CacheTTL     = 500 * time.Millisecond
)

// Tokens reads what belongs to a token, through one cache per kind of read. It
// belongs to one profile and one goroutine.
type Tokens struct {
	store      wamble.Queries
	sessions   cache[wamble.SessionID]
	persistent cache[wamble.SessionID]
	trust      cache[int]
}

// NewTokens returns reads with empty caches.
func NewTokens(store wamble.Queries) *Tokens { return &Tokens{store: store} }

// Session returns the number of a token's session.
func (t *Tokens) Session(ctx context.Context, now time.Time, token wamble.Token) (wamble.SessionID, error) {
	return t.sessions.read(now, token, func() (wamble.SessionID, error) {
		s, err := t.store.Session(ctx, token)
		return s.ID, err
	})
}

// PersistentSession returns the number of a token's session if it has an
// identity, and ErrNotFound if it is anonymous.
func (t *Tokens) PersistentSession(ctx context.Context, now time.Time, token wamble.Token) (wamble.SessionID, error) {
	return t.persistent.read(now, token, func() (wamble.SessionID, error) {
		s, err := t.store.Session(ctx, token)
		if err == nil && s.Player == 0 {
			err = wamble.ErrNotFound
		}
		return s.ID, err
	})
}

// Trust returns the trust tier of a token's session.
func (t *Tokens) Trust(ctx context.Context, now time.Time, token wamble.Token) (int, error) {
	return t.trust.read(now, token, func() (int, error) {
		s, err := t.store.Session(ctx, token)
		return s.Trust, err
	})
}

// Created says that a session was made, so that its first read finds it.
func (t *Tokens) Created(now time.Time, token wamble.Token, id wamble.SessionID, player wamble.PlayerID) {
	t.sessions.put(now, token, id, nil)
	t.trust.put(now, token, 0, nil)
	if player != 0 {
		t.persistent.put(now, token, id, nil)
	} else {
		t.persistent.put(now, token, 0, wamble.ErrNotFound)
	}
}

// Linked says that some session got or lost its identity: no persistent read
// is believed any more.
func (t *Tokens) Linked() { t.persistent.clear() }

// cache is a ring of answers with an index; the oldest makes room.
type cache[V any] struct {
	index map[wamble.Token]int
	ring  [CacheEntries]entry[V]
	next  int
}

type entry[V any] struct {
	token   wamble.Token
	value   V
	err     error
	expires time.Time
}

func (c *cache[V]) read(now time.Time, token wamble.Token, ask func() (V, error)) (V, error) {
	if i, ok := c.index[token]; ok && !now.After(c.ring[i].expires) {
		return c.ring[i].value, c.ring[i].err
	}
	value, err := ask()
	// A call that its caller gave up says nothing about the database.
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		c.put(now, token, value, err)
	}
	return value, err
}

func (c *cache[V]) put(now time.Time, token wamble.Token, value V, err error) {
	i, ok := c.index[token]
	if !ok {
		i = c.next
		c.next = (c.next + 1) % CacheEntries
		if c.index == nil {
			c.index = make(map[wamble.Token]int, CacheEntries)
		}
		if old := &c.ring[i]; !old.expires.IsZero() {
			delete(c.index, old.token)
		}
		c.index[token] = i
	}
	c.ring[i] = entry[V]{token, value, err, now.Add(CacheTTL)}
}

func (c *cache[V]) clear() { *c = cache[V]{} }
