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

// Identity is a key, and who has it. It stays in memory as long as one of its sessions,
// and until the store has all of it.
type Identity struct {
	id       wamble.PlayerID
	key      wamble.PublicKey
	handle   string
	renamed  time.Time // when the name was chosen, if while the identity was in memory
	rating   float64   // as it was read, and changed by games that end here
	games    Games     // as they were read, and begun here since
	sessions int
	seq      uint64
	stale    bool // changed by others
}

// ID returns the number of the player.
func (i *Identity) ID() wamble.PlayerID { return i.id }

// Key returns the public key.
func (i *Identity) Key() wamble.PublicKey { return i.key }

// Handle returns the name of the player.
func (i *Identity) Handle() string { return i.handle }

// Renamed returns when the name was chosen, zero if not while the identity was in memory.
func (i *Identity) Renamed() time.Time { return i.renamed }

func (i *Identity) stats() wamble.Stats {
	s := i.games.stats()
	s.Rating = i.rating
	return s
}

// Rating returns the rating as it was read from the store, with the changes by games that ended here since.
func (i *Identity) Rating() float64 { return i.rating }

// Fresh returns the identity of a key, nil if it is not in memory or stale. Then the store must be asked for it
// before Link.
func (t *Table) Fresh(key wamble.PublicKey) *Identity {
	if i := t.identities[key]; i != nil && !i.stale {
		return i
	}
	return nil
}

// Identity returns the identity of a key, nil if it is not in memory.
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
	case i != nil && i.stale && stored != nil:
		i.update(stored)
	case i != nil && i.stale:
		i = nil // it was erased
	}
	switch {
	case i == nil && stored != nil:
		i = identityOf(stored)
		i.key = key
	case i == nil:
		player, err := t.NewPlayer(key)
		if err != nil {
			return err
		}
		id, ok := t.ids.Player()
		if !ok {
			return ErrNoID
		}
		i = &Identity{id: id, key: key, handle: player.Handle, rating: player.Stats.Rating, games: s.games}
	}
	t.detach(s)
	t.attach(s, i)
	t.intents.link = intent.LinkSession{
		Session: s.id, Key: key, Player: i.id, Handle: i.handle, Rating: i.rating, At: timeOf(at),
	}
	out.Add(&t.intents.link)
	return nil
}

// identityOf makes an Identity of a stored one.
func identityOf(p *wamble.Player) *Identity {
	return &Identity{id: p.ID, key: p.Key, handle: p.Handle, rating: p.Stats.Rating, games: gamesOf(p.Stats)}
}

// update applies the stored facts of an identity.
func (i *Identity) update(p *wamble.Player) {
	i.id, i.handle, i.rating, i.games, i.stale = p.ID, p.Handle, p.Stats.Rating, gamesOf(p.Stats), false
}

// attach makes s a session of i.
func (t *Table) attach(s *Session, i *Identity) {
	s.identity = i
	i.sessions++
	t.identities[i.key] = i
}

// detach removes a session from its identity.
func (t *Table) detach(s *Session) {
	i := s.identity
	if i == nil {
		return
	}
	s.identity = nil
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
