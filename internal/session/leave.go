package session

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

// End says how a session has ended.
type End uint8

// The closed list of ends.
const (
	Unconfirmed End = iota // silent since its hello
	Expired                // silent for Expiration
)

// Ended is a session that has ended. The board of an anonymous one is free.
type Ended struct {
	Session wamble.SessionID
	Token   wamble.Token
	End     End
}

// Goodbye ends a session. The token of an anonymous one is refused from now on; a player with an identity
// can come back with theirs.
func (t *Table) Goodbye(now time.Time, s *Session) {
	t.tick(now)
	s.pending = nil
	if s.identity != nil {
		t.depart(s)
		return
	}
	t.end(s)
}

// Logout unlinks a session from its identity and ends it. Its token is refused from now on.
func (t *Table) Logout(now time.Time, s *Session, out intent.Intents) {
	at := t.tick(now)
	if s.identity != nil {
		t.intents.unlink = intent.UnlinkSession{Session: s.id, At: timeOf(at)}
		out.Add(&t.intents.unlink)
	}
	t.detach(s)
	t.end(s)
	if token, err := t.newToken(); err == nil { // which nobody has: the store must not know the old one
		s.hash, s.bound = token.Hash(), nil
		t.noteToken(at, s, out)
	}
}

// Kick ends a session, anonymous or not. Its token is refused, until maxRefused others have been.
func (t *Table) Kick(now time.Time, s *Session) {
	t.tick(now)
	s.pending = nil
	t.end(s)
}

// RefuseHash refuses a token from now on. Its session must not be in memory.
func (t *Table) RefuseHash(hash wamble.TokenHash) { t.refused.Use(hash) }

// end removes a session, and refuses its token.
func (t *Table) end(s *Session) {
	t.refused.Use(s.hash)
	t.forget(s)
}

// NoteBoardLost says that a session does not hold a board any more. If it is idle it departs.
func (t *Table) NoteBoardLost(id wamble.SessionID) {
	if s := t.byID[id]; s != nil && s.list == &t.lists.idle {
		t.depart(s)
	}
}

// Next returns when Due must be called, and false if no session waits for it.
func (t *Table) Next() (time.Time, bool) {
	next, found := int64(0), false
	for _, wait := range t.waits() {
		if wait.list.last == nil {
			continue
		}
		if at := wait.list.last.times.lastSeen + wait.span.Microseconds(); !found || at < next {
			next, found = at, true
		}
	}
	return timeOf(next), found
}

// wait is how long the sessions of a list may be silent.
type wait struct {
	list *list
	span time.Duration
}

func (t *Table) waits() [3]wait {
	return [3]wait{
		{&t.lists.fresh, t.opts.Unconfirmed},
		{&t.lists.live, min(t.opts.Away, t.opts.Expiration)},
		{&t.lists.idle, t.opts.Expiration},
	}
}

// maxDue bounds the sessions that one Due checks.
const maxDue = 4096

// Due ends unconfirmed sessions without a connection, lets silent ones without a board leave memory, and ends those that were
// silent for Expiration. It appends the ended ones to dst and returns it. It checks at most maxDue
// sessions, so that a step stays short when very many are late; then Next returns a time that has passed.
func (t *Table) Due(now time.Time, holds Holds, dst []Ended) []Ended {
	at := t.tick(now)
	left := maxDue
	for _, wait := range t.waits() {
		limit := at - wait.span.Microseconds()
		for s := wait.list.last; left > 0 && s != nil && s.times.lastSeen <= limit; s = wait.list.last {
			left--
			switch {
			case wait.list == &t.lists.fresh && t.Connected != nil && t.Connected(s):
				t.confirm(s)
				s.times.lastSeen = at // live is in the order of the last sign of life
				t.lists.live.moveToFront(s)
				t.count(s)
			case wait.list == &t.lists.fresh:
				dst = append(dst, Ended{s.id, s.token, Unconfirmed})
				t.depart(s)
			case at-s.times.lastSeen >= t.opts.Expiration.Microseconds():
				dst = append(dst, Ended{s.id, s.token, Expired})
				t.depart(s)
			case holds(s.id):
				t.lists.idle.moveToFront(s)
				t.count(s)
			default:
				t.depart(s)
			}
		}
	}
	return dst
}
