package session

import (
	"errors"
	"io"
	"time"

	"wamble/internal/intent"
	"wamble/internal/share"

	"wamble"
)

var (
	// ErrFull is returned if MaxPlayers are present and none of them can be evicted, or no number is left
	// for a session.
	ErrFull error = &wamble.Denied{Code: wamble.Internal, Reason: "could not create player session"}
	// ErrHostLimit is returned if a host has made too many sessions.
	ErrHostLimit error = &wamble.Denied{Code: wamble.AccessDenied, Reason: "too many new players from your address"}
	// ErrEnded is returned if a stored session cannot be resumed: it has ended, or its player was away for
	// too long.
	ErrEnded = errors.New("the session is over")
	// ErrEntropy is returned if all tokens that were drawn are in use.
	ErrEntropy = errors.New("the entropy gives no new token")
)

// greeting is the hello that made a session. A repetition of it from the same peer gets the same session
// while that is fresh.
type greeting struct {
	from wamble.Peer
	seq  uint32
}

// Holds reports whether a session holds a board. Such a session is not evicted.
type Holds func(wamble.SessionID) bool

// Hello returns the session of a hello without a known token: a new one, or that of an earlier copy of the
// hello if it is still fresh. Errors: ErrFull, ErrHostLimit, ErrEntropy.
func (t *Table) Hello(now time.Time, from wamble.Peer, seq uint32, holds Holds, out intent.Intents) (s *Session,
	isNew bool, err error) {
	at := t.tick(now)
	g := greeting{from, seq}
	if s := t.greetings[g]; s != nil && !s.token.IsZero() { // zero: nobody has said the token since a handoff
		return s, false, nil
	}
	if err := t.admits(at, from, holds); err != nil {
		return nil, false, err
	}
	token, err := t.newToken()
	if err != nil {
		return nil, false, err
	}
	if s = t.create(at, from, token); s == nil {
		return nil, false, ErrFull
	}
	s.greeting, t.greetings[g] = &g, s
	t.add(s, &t.lists.fresh)
	out.Add(&t.intents.create)
	return s, true, nil
}

// Accept returns a new session with a token that was offered to an address, and has come back from there,
// which proves the address. The token must not be in use. Errors: ErrFull, ErrHostLimit.
func (t *Table) Accept(now time.Time, from wamble.Peer, token wamble.Token, holds Holds, out intent.Intents) (*Session,
	error) {
	at := t.tick(now)
	if err := t.admits(at, from, holds); err != nil {
		return nil, err
	}
	s := t.create(at, from, token)
	if s == nil {
		return nil, ErrFull
	}
	t.add(s, &t.lists.live)
	out.Add(&t.intents.create)
	return s, nil
}

// admits makes room for one more session of a host. Errors: ErrFull, ErrHostLimit.
func (t *Table) admits(at int64, from wamble.Peer, holds Holds) error {
	if !t.makeRoom(holds) {
		return ErrFull
	}
	if !t.hosts.admit(at, from, t.opts.NewPerHost) {
		return ErrHostLimit
	}
	if t.opts.Shard.Of > 1 && t.opts.NewPerHost > 0 {
		t.newcomers = append(t.newcomers, Newcomer{wamble.HostOf(from.IP()), from.Stream()})
	}
	return nil
}

// create returns a new session that is in no list yet, with its intent in t.intents; nil if no number is
// left.
func (t *Table) create(at int64, from wamble.Peer, token wamble.Token) *Session {
	id, ok := t.ids.Session()
	if !ok {
		return nil
	}
	hash := token.Hash()
	t.intents.create = intent.CreateSession{Session: id, Token: hash, At: timeOf(at)}
	return &Session{
		id: id, token: token, hash: hash, host: share.HostOf(from.IP()),
		times: times{created: at, lastSeen: at, lastStored: at},
	}
}

// OldestForgotten returns the creation time of the youngest session that has left memory. A younger token that is
// not in memory has no session.
func (t *Table) OldestForgotten() time.Time { return timeOf(t.oldestForgotten) }

// SetOldestForgotten says that sessions made up to a time may have left memory.
func (t *Table) SetOldestForgotten(at time.Time) {
	t.oldestForgotten = max(t.oldestForgotten, micros(at))
}

// Discard removes a session that Hello or Accept has just made. Its player was not told of it, and its
// intents are dropped.
func (t *Table) Discard(s *Session) { t.forget(s) }

func (t *Table) newToken() (wamble.Token, error) {
	for range max(t.opts.TokenAttempts, 1) {
		var token wamble.Token
		if _, err := io.ReadFull(t.entropy, token[:]); err != nil {
			return wamble.Token{}, err
		}
		t.opts.Shard.Own(&token)
		if !token.IsZero() && t.byToken[token] == nil && !t.Refused(token) {
			return token, nil
		}
	}
	return wamble.Token{}, ErrEntropy
}

// Admit takes the stored session of a token into memory. Player is its stored identity, nil if it has none
// or that is in memory. An anonymous session has ended if it was not seen for Expiration, one of an
// identity after Lifetime. Errors: ErrEnded, ErrFull.
func (t *Table) Admit(now time.Time, token wamble.Token, stored *wamble.Session, player *wamble.Player,
	holds Holds) (*Session, error) {
	at := t.tick(now)
	if s := t.Find(token); s != nil {
		return s, nil
	}
	if stored.Token != token.Hash() || !t.takes(at, stored) {
		return nil, ErrEnded
	}
	if !t.makeRoom(holds) {
		return nil, ErrFull
	}
	s := t.revive(at, stored, player)
	s.token = token
	t.add(s, &t.lists.live)
	return s, nil
}

// maxEvictions bounds the search for a session that can be evicted.
const maxEvictions = 64

// makeRoom reports whether one more session may be present. If there are too many it evicts, among the
// longest silent, the first that holds no board and is stored. Departing sessions, which accumulate while
// the store is away, have the same bound.
func (t *Table) makeRoom(holds Holds) bool {
	switch {
	case t.lists.departing.n >= t.opts.MaxPlayers:
		return false
	case t.Present() < t.opts.MaxPlayers:
		return true
	}
	s := t.lists.live.last
	for n := 0; s != nil && n < maxEvictions; n++ {
		if s.seq <= t.applied && !holds(s.id) {
			t.forget(s)
			return t.Present() < t.opts.MaxPlayers
		}
		s = s.prev
	}
	return false
}

// idleEnough is the silence after which a session with a board may make room.
const idleEnough = time.Minute

// Yields returns the session that must leave with Evict so that a newcomer gets in after ErrFull; nil if
// there is none. Unconfirmed sessions may have a quarter of the places. Otherwise the host with the most
// sessions loses its idlest. If no host has more than one, an unconfirmed session goes, or one that was
// silent for idleEnough. A host that has used up its allowance evicts no session.
func (t *Table) Yields(now time.Time, from wamble.Peer) *Session {
	at := t.tick(now)
	fresh, live := t.Unconfirmed(nil, nil), t.lists.live.last
	switch s := t.shares.Yield(share.HostOf(from.IP())); {
	case t.Present() < t.opts.MaxPlayers || t.lists.departing.n >= t.opts.MaxPlayers ||
		t.hosts.exhausted(at, from, t.opts.NewPerHost):
		return nil
	case fresh != nil && t.ManyFresh(t.opts.MaxPlayers):
		return fresh
	case s != nil:
		return s
	case fresh != nil:
		return fresh
	case live != nil && at-live.times.lastSeen >= idleEnough.Microseconds():
		return live
	}
	return nil
}

// ManyFresh reports whether the unconfirmed sessions have at least a quarter of the places.
func (t *Table) ManyFresh(places int) bool { return t.lists.fresh.n*4 >= places }

// Unconfirmed returns one of the oldest unconfirmed sessions other than but; with holds, one that holds a
// board; nil if there is none. It skips sessions on a connection, which proves their address even if the
// player has done nothing yet.
func (t *Table) Unconfirmed(but *Session, holds Holds) *Session {
	old := t.lists.fresh.last
	for n := 0; old != nil && n < maxEvictions; n++ {
		if old != but && !old.greeting.from.Stream() && (holds == nil || holds(old.id)) {
			return old
		}
		old = old.prev
	}
	return nil
}

// Evict removes a session from memory as soon as the store has all of it. One that holds a board becomes
// idle.
func (t *Table) Evict(s *Session, holds Holds) {
	if !holds(s.id) {
		t.depart(s)
		return
	}
	t.confirm(s)
	s.times.lastSeen = t.now // idle is in the order of the last sign of life
	t.lists.idle.moveToFront(s)
	t.count(s)
}
