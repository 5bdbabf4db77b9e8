package session

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

// End says how a session ended.
type End uint8

// The closed list of ends.
const (
	Unconfirmed End = iota // never heard of after its hello
	Expired                // silent for Expiration
)

// Ended is a session that is no longer there. An anonymous one's board is free.
type Ended struct {
	Session wamble.SessionID
	Token   wamble.Token
	End     End
}

// Goodbye ends a session. The token of an anonymous one is refused from now on;
// a player with an identity can come back with his.
func (t *Table) Goodbye(now time.Time, s *Session) {
	t.tick(now)
	s.pending = nil
	if s.identity != nil {
		t.depart(s)
		return
	}
	t.end(s)
}

// Logout takes a session from its identity and ends it. Its token is refused from
// now on.
func (t *Table) Logout(now time.Time, s *Session, out intent.Intents) {
	at := t.tick(now)
	if s.identity != nil {
		t.intents.unlink = intent.UnlinkSession{Session: s.id, At: timeOf(at)}
		out.Add(&t.intents.unlink)
	}
	t.LoggedOut(now, s)
}

// Kick ends a session, anonymous or not. Its token is refused from now on.
func (t *Table) Kick(now time.Time, s *Session) {
	t.tick(now)
	s.pending = nil
	t.end(s)
}

// RefuseHash refuses the token of a session that is not in memory from now on.
func (t *Table) RefuseHash(hash wamble.TokenHash) { t.over.Use(hash) }

// end removes a session, and refuses its token.
func (t *Table) end(s *Session) {
	t.over.Use(s.hash)
	t.forget(s)
}

// Unseated says that a session no longer holds a board. If it is idle it departs.
func (t *Table) Unseated(id wamble.SessionID) {
	if s := t.byID[id]; s != nil && s.list == &t.lists.idle {
		t.depart(s)
	}
}

// Next returns when Due is to be called, and false when no session waits for it.
func (t *Table) Next() (time.Time, bool) {
	next, found := int64(0), false
	for _, wait := range t.waits() {
		if wait.list.last == nil {
			continue
		}
		if at := wait.list.last.times.heard + wait.span.Microseconds(); !found || at < next {
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

// maxDue is how many sessions one Due looks at.
const maxDue = 4096

// Due lets time pass: unconfirmed sessions end, silent ones leave memory unless
// they hold a board, and end when they were silent for Expiration. It appends the
// ended ones to dst and returns it. It looks at maxDue sessions at most, so that
// nobody waits long when very many are late; Next tells that there is more.
func (t *Table) Due(now time.Time, holds Holds, dst []Ended) []Ended {
	at := t.tick(now)
	left := maxDue
	for _, wait := range t.waits() {
		limit := at - wait.span.Microseconds()
		for s := wait.list.last; left > 0 && s != nil && s.times.heard <= limit; s = wait.list.last {
			left--
			switch {
			case wait.list == &t.lists.fresh:
				dst = append(dst, Ended{s.id, s.token, Unconfirmed})
				t.depart(s)
			case at-s.times.heard >= t.opts.Expiration.Microseconds():
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
