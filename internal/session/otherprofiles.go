package session

import (
	"strings"
	"time"

	"wamble"
)

// Profiles that keep their sessions in the same store tell each other whose facts they have changed.

// Pending returns the last journal message that the store must have before it is read about a token or a
// key; 0 if memory knows neither.
func (t *Table) Pending(token wamble.Token, key wamble.PublicKey) uint64 {
	s := t.Find(token)
	switch {
	case t.erased[key] != 0, t.identities[key] != nil, t.Refused(token), s != nil && s.identity != nil:
		return t.newest // may be later than necessary: messages are not counted by identity
	case s != nil:
		return s.seq
	}
	return 0
}

// MarkStale marks a session, and all sessions of the keys: others have changed their facts, and they must be
// read again before they are used. It returns those that are in memory.
func (t *Table) MarkStale(id wamble.SessionID, keys [2]wamble.PublicKey) (marked []*Session) {
	if s := t.byID[id]; s != nil {
		marked = append(marked, s)
	}
	for _, key := range keys {
		if i := t.identities[key]; i != nil {
			i.stale = true
			marked = append(marked, t.Of(key)...)
		}
	}
	for _, s := range marked {
		s.stale = true
	}
	return marked
}

// Stale reports whether others have changed the facts of a session since they were read.
func (s *Session) Stale() bool { return s.stale }

// Seq returns the last message of the journal that concerned a session.
func (s *Session) Seq() uint64 { return s.seq }

// Refresh applies the stored facts of a session that is not over: it is stale no longer. Player is that of Admit.
func (t *Table) Refresh(s *Session, row *wamble.Session, player *wamble.Player) {
	s.stale = false
	s.trust, s.bound = int32(row.Trust), hostOf(row.Host)
	if row.Bot {
		s.SetBot()
	}
	if s.identity != nil && s.identity.key != row.Key {
		t.detach(s)
	}
	if !row.Key.IsZero() {
		i := t.storedIdentity(row, player)
		if i.stale && player != nil {
			i.update(player)
		}
		if s.identity == nil {
			t.attach(s, i)
		}
	}
	if s.hash == row.Token || t.byHash[row.Token] != nil {
		return
	}
	delete(t.byToken, s.token)
	delete(t.byHash, s.hash)
	t.refused.Use(s.hash)
	s.token, s.hash = wamble.Token{}, row.Token
	t.byHash[s.hash] = s
}

// SetTrust sets the trust level of a session, or of all sessions of a key, in memory.
func (t *Table) SetTrust(id wamble.SessionID, key wamble.PublicKey, level int) {
	if s := t.byID[id]; s != nil {
		s.trust = int32(level)
	}
	for _, s := range t.Of(key) {
		s.trust = int32(level)
	}
}

// Rename gives the identity of a key a handle, if it is in memory.
func (t *Table) Rename(key wamble.PublicKey, handle string, at time.Time) {
	if i := t.identities[key]; i != nil {
		i.handle, i.renamed = handle, at
	}
}

// KeyOf returns the key of the identity with a handle, regardless of case; zero if it is not in memory.
func (t *Table) KeyOf(handle string) (key wamble.PublicKey) {
	for _, i := range t.identities {
		if !i.stale && strings.EqualFold(i.handle, handle) {
			key = i.key
		}
	}
	return key
}

// HostText returns the host that the token is bound to, as it is stored.
func (s *Session) HostText() string { return hostText(s.bound) }
