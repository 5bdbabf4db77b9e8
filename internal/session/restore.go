package session

import (
	"time"

	"wamble"
)

// Restore takes in a stored session that holds a board, at the start of a profile. It becomes idle,
// whatever MaxPlayers is. Player is that of Admit. Errors: ErrEnded.
func (t *Table) Restore(now time.Time, stored *wamble.Session, player *wamble.Player) (*Session, error) {
	at := t.tick(now)
	if s := t.byID[stored.ID]; s != nil && s.hash == stored.Token {
		return s, nil
	}
	if !t.takes(at, stored) {
		return nil, ErrEnded
	}
	s := t.revive(at, stored, player)
	t.add(s, &t.lists.idle)
	return s, nil
}

// takes reports whether a stored session can be resumed.
func (t *Table) takes(at int64, stored *wamble.Session) bool {
	if stored.ID <= 0 || stored.Token.IsZero() || t.byID[stored.ID] != nil || t.refused.Find(stored.Token) != nil ||
		t.Erasing(stored.Key) {
		return false
	}
	limit := t.opts.Expiration
	if !stored.Key.IsZero() {
		limit = t.opts.Lifetime
	}
	return limit == 0 || at-micros(stored.LastSeen) <= limit.Microseconds()
}

// revive makes a Session from a stored one. It is in no list yet.
func (t *Table) revive(at int64, stored *wamble.Session, player *wamble.Player) *Session {
	s := &Session{
		id: stored.ID, hash: stored.Token, bound: hostOf(stored.Host), games: gamesOf(stored.Stats), trust: int32(stored.Trust),
		bot:   stored.Bot,
		times: times{created: micros(stored.Created), lastSeen: at, lastStored: micros(stored.LastSeen)},
	}
	if !stored.Key.IsZero() {
		t.attach(s, t.storedIdentity(stored, player))
	}
	return s
}

// storedIdentity returns the identity of a stored session.
func (t *Table) storedIdentity(stored *wamble.Session, player *wamble.Player) *Identity {
	if i := t.identities[stored.Key]; i != nil {
		return i
	}
	i := &Identity{id: stored.Player, key: stored.Key, handle: stored.Handle, rating: stored.Stats.Rating,
		games: gamesOf(stored.Stats)}
	if player != nil {
		i.rating, i.games = player.Stats.Rating, gamesOf(player.Stats)
	}
	if i.rating <= 0 {
		i.rating = t.opts.DefaultRating
	}
	return i
}
