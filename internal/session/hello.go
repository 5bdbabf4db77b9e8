package session

import (
	"errors"
	"io"
	"time"

	"wamble/internal/intent"

	"wamble"
)

var (
	// ErrFull is returned when MaxPlayers are present, and none of them can go
	// to the store, or when no number is left for a session.
	ErrFull error = &wamble.Denied{Code: wamble.Internal, Reason: "could not create player session"}
	// ErrCrowd is returned when a host has made too many sessions.
	ErrCrowd error = &wamble.Denied{Code: wamble.AccessDenied, Reason: "too many new players from your address"}
	// ErrOver is returned when a stored session cannot be taken up again: it has
	// ended, or its player was away for too long.
	ErrOver = errors.New("the session is over")
	// ErrEntropy is returned when there is no token to be had.
	ErrEntropy = errors.New("the entropy gives no new token")
)

// greeting is the hello that made a session: its repetition, by whichever way it
// comes, gives the same session while that is fresh.
type greeting struct {
	from wamble.Peer
	seq  uint32
}

// Holds says whether a session holds a board. Who does is not sent to the store
// to make room.
type Holds func(wamble.SessionID) bool

// Hello returns the session of a hello without a token (or with one that nobody
// knows): a new one, or that of the same hello before, if it was not heard of
// since. Errors: ErrFull, ErrCrowd, ErrEntropy.
func (t *Table) Hello(now time.Time, from wamble.Peer, seq uint32, holds Holds, out intent.Intents) (s *Session, isNew bool, err error) {
	at := t.tick(now)
	g := greeting{from, seq}
	if s := t.greetings[g]; s != nil {
		return s, false, nil
	}
	if !t.makeRoom(holds) {
		return nil, false, ErrFull
	}
	if !t.hosts.admit(at, from.IP(), t.opts.NewPerHost) {
		return nil, false, ErrCrowd
	}
	token, err := t.newToken()
	if err != nil {
		return nil, false, err
	}
	id, ok := t.ids.Session()
	if !ok {
		return nil, false, ErrFull
	}
	s = &Session{id: id, token: token, times: times{created: at, heard: at, noted: at}, greeting: &g}
	t.greetings[g] = s
	t.add(s, &t.rolls.fresh)
	t.intents.create = intent.CreateSession{Session: id, Token: token, At: timeOf(at)}
	out.Add(&t.intents.create)
	return s, true, nil
}

// Discard takes a session back that Hello has just made: nobody was told of it,
// and its intents will not be kept.
func (t *Table) Discard(s *Session) { t.forget(s) }

func (t *Table) newToken() (wamble.Token, error) {
	for range max(t.opts.TokenAttempts, 1) {
		var token wamble.Token
		if _, err := io.ReadFull(t.entropy, token[:]); err != nil {
			return wamble.Token{}, err
		}
		if !token.IsZero() && t.byToken[token] == nil && t.over.Find(token) == nil {
			return token, nil
		}
	}
	return wamble.Token{}, ErrEntropy
}

// Admit takes a stored session in. Player is what the store has of its identity,
// nil if it has none; of an identity that is in memory it is not needed. An
// anonymous session that was not seen for Expiration is over. Errors: ErrOver,
// ErrFull.
func (t *Table) Admit(now time.Time, stored *wamble.Session, player *wamble.Player, holds Holds) (*Session, error) {
	at := t.tick(now)
	if s := t.byToken[stored.Token]; s != nil {
		return s, nil
	}
	if !t.takes(at, stored) {
		return nil, ErrOver
	}
	if !t.makeRoom(holds) {
		return nil, ErrFull
	}
	s := t.revive(at, stored, player)
	t.add(s, &t.rolls.live)
	return s, nil
}

// takes reports whether a stored session can be taken up again.
func (t *Table) takes(at int64, stored *wamble.Session) bool {
	if stored.ID <= 0 || stored.Token.IsZero() || t.byID[stored.ID] != nil || t.over.Find(stored.Token) != nil {
		return false
	}
	return !stored.Key.IsZero() || at-micros(stored.LastSeen) <= t.opts.Expiration.Microseconds()
}

// revive makes a session of a stored one. It is in no roll yet.
func (t *Table) revive(at int64, stored *wamble.Session, player *wamble.Player) *Session {
	s := &Session{
		id: stored.ID, token: stored.Token, own: stored.Stats, trust: int32(stored.Trust),
		times: times{created: micros(stored.Created), heard: at, noted: micros(stored.LastSeen)},
	}
	s.own.Rating = 0
	if !stored.Key.IsZero() && !t.Erasing(stored.Key) {
		t.tie(s, t.identityOf(stored, player))
	}
	return s
}

// identityOf returns the identity of a stored session.
func (t *Table) identityOf(stored *wamble.Session, player *wamble.Player) *Identity {
	if i := t.identities[stored.Key]; i != nil {
		return i
	}
	i := &Identity{id: stored.Player, key: stored.Key, handle: stored.Handle, stats: stored.Stats}
	if player != nil {
		i.stats = player.Stats
	}
	if i.stats.Rating <= 0 {
		i.stats.Rating = t.opts.DefaultRating
	}
	return i
}

// maxEvictions bounds the search for a session that can go.
const maxEvictions = 64

// makeRoom reports whether one more session may be present. If there are too
// many, the one that was silent for longest and can go to the store goes. While
// the store is away those who left pile up; they have a bound too.
func (t *Table) makeRoom(holds Holds) bool {
	switch {
	case t.rolls.departing.n >= t.opts.MaxPlayers:
		return false
	case t.Present() < t.opts.MaxPlayers:
		return true
	}
	s := t.rolls.live.last
	for n := 0; s != nil && n < maxEvictions; n++ {
		if s.seq <= t.applied && !holds(s.id) {
			t.forget(s)
			return t.Present() < t.opts.MaxPlayers
		}
		s = s.prev
	}
	return false
}
