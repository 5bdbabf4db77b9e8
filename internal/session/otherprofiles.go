package session

import (
	"strings"
	"time"

	"wamble"
)

// Profiles that keep their sessions in the same store tell each other their decisions. The functions here
// change only memory: the profile that decided writes the intents.

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

// LoggedOut is Logout without intents, for a logout that another profile stores.
func (t *Table) LoggedOut(now time.Time, s *Session) {
	t.tick(now)
	t.detach(s)
	t.end(s)
}

// Linked applies a login that another profile stores: the session of the row gets the player's identity,
// the token, and the host of the row. A zero token is unknown, and the row has its hash. It returns the session,
// nil if it is not in memory.
func (t *Table) Linked(row *wamble.Session, token wamble.Token, player *wamble.Player) *Session {
	s, i := t.byID[row.ID], t.identities[player.Key]
	if s == nil {
		return nil
	}
	if i == nil || i != s.identity {
		t.detach(s)
		if i == nil {
			i = identityOf(player)
		}
		t.attach(s, i)
	}
	if s.hash != row.Token && t.Find(token) == nil && t.byHash[row.Token] == nil {
		delete(t.byToken, s.token)
		delete(t.byHash, s.hash)
		t.refused.Use(s.hash)
		if s.token, s.hash = token, row.Token; token.IsZero() {
			t.byHash[s.hash] = s
		} else {
			t.byToken[s.token] = s
		}
	}
	s.bound = hostOf(row.Host)
	return s
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
		if strings.EqualFold(i.handle, handle) {
			key = i.key
		}
	}
	return key
}

// Forget ends the sessions of a key that was erased. Their tokens are refused from now on.
func (t *Table) Forget(now time.Time, key wamble.PublicKey) {
	for _, s := range t.Of(key) {
		t.Kick(now, s)
	}
	delete(t.identities, key)
}

// HostText returns the host that the token is bound to, as it is stored.
func (s *Session) HostText() string { return hostText(s.bound) }
