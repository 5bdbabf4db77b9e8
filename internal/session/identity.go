package session

import (
	"encoding/hex"
	"errors"
	"io"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// ErrNoID is returned if no number is left for a new player.
var ErrNoID = errors.New("no number is left for a new player")

// Identity is a key, and the totals of all its sessions. It stays in memory as long as one of its sessions,
// and until the store has all of it.
type Identity struct {
	id       wamble.PlayerID
	key      wamble.PublicKey
	handle   string
	renamed  time.Time // when the name was chosen, if while the identity was in memory
	stats    wamble.Stats
	sessions int
	seq      uint64
}

// ID returns the number of the player.
func (i *Identity) ID() wamble.PlayerID { return i.id }

// Key returns the public key.
func (i *Identity) Key() wamble.PublicKey { return i.key }

// Handle returns the name of the player.
func (i *Identity) Handle() string { return i.handle }

// Renamed returns when the name was chosen, zero if not while the identity was in memory.
func (i *Identity) Renamed() time.Time { return i.renamed }

// Stats returns the totals of all sessions, and the rating.
func (i *Identity) Stats() wamble.Stats { return i.stats }

// count adds the totals in by, n times, to those in to, except the rating.
func count(to *wamble.Stats, by wamble.Stats, n float64) {
	to.Score += n * by.Score
	to.PredictionScore += n * by.PredictionScore
	to.Games += int(n) * by.Games
	to.Chess960Games += int(n) * by.Chess960Games
}

// Identity returns the identity of a key, nil if it is not in memory. Then the store must be asked for it
// before Link.
func (t *Table) Identity(key wamble.PublicKey) *Identity { return t.identities[key] }

// Link gives a session the identity of a key, which Prove has accepted. Stored is the stored identity of
// the key, nil if there is none: then a new player is made. An identity in memory takes precedence. Errors:
// ErrNoID, or one of the entropy.
func (t *Table) Link(now time.Time, s *Session, key wamble.PublicKey, stored *wamble.Player, out intent.Intents) error {
	at := t.tick(now)
	i := t.identities[key]
	switch {
	case i != nil && i == s.identity:
		return nil
	case i == nil && stored != nil:
		i = &Identity{id: stored.ID, key: key, handle: stored.Handle, stats: stored.Stats}
	case i == nil:
		player, err := t.NewPlayer(key)
		if err != nil {
			return err
		}
		id, ok := t.ids.Player()
		if !ok {
			return ErrNoID
		}
		i = &Identity{id: id, key: key, handle: player.Handle, stats: player.Stats}
	}
	t.detach(s)
	count(&i.stats, s.own, 1)
	t.attach(s, i)
	t.intents.link = intent.LinkSession{
		Session: s.id, Key: key, Player: i.id, Handle: i.handle, Rating: i.stats.Rating, At: timeOf(at),
	}
	out.Add(&t.intents.link)
	return nil
}

// attach makes s a session of i.
func (t *Table) attach(s *Session, i *Identity) {
	s.identity = i
	i.sessions++
	t.identities[i.key] = i
}

// detach removes a session from its identity, and from its totals.
func (t *Table) detach(s *Session) {
	i := s.identity
	if i == nil {
		return
	}
	s.identity = nil
	count(&i.stats, s.own, -1)
	t.dropSession(i, t.newest+1) // the journal message of this change is not written yet
}

// dropSession removes one session of i from the count. Without any, i is forgotten when the store has
// applied message seq.
func (t *Table) dropSession(i *Identity, seq uint64) {
	i.sessions--
	i.seq = max(i.seq, seq)
	if i.sessions == 0 {
		t.unused = append(t.unused, unusedIdentity{i, i.seq})
	}
}

// unusedIdentity is an identity that had no session when message seq was written.
type unusedIdentity struct {
	identity *Identity
	seq      uint64
}

// forgetUnused drops identities that still have no session, if the store has all of them.
func (t *Table) forgetUnused() {
	for len(t.unused) > 0 && t.unused[0].seq <= t.applied {
		i := t.unused[0].identity
		t.unused[0] = unusedIdentity{}
		t.unused = t.unused[1:]
		if i.sessions == 0 && i.seq <= t.applied && t.identities[i.key] == i {
			delete(t.identities, i.key)
		}
	}
}

// NewPlayer returns a new player without a number: with a random name, which the player can change, and the
// default rating.
func (t *Table) NewPlayer(key wamble.PublicKey) (wamble.Player, error) {
	var b [6]byte
	if _, err := io.ReadFull(t.entropy, b[:]); err != nil {
		return wamble.Player{}, err
	}
	return wamble.Player{Key: key, Handle: "h_" + hex.EncodeToString(b[:]),
		Stats: wamble.Stats{Rating: t.opts.DefaultRating}}, nil
}
