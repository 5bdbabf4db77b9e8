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
	// ErrFull is returned when MaxPlayers are present, and none of them can go
	// to the store, or when no number is left for a session.
	ErrFull error = &wamble.Denied{Code: wamble.Internal, Reason: "could not create player session"}
	// ErrCrowd is returned when a host has made too many sessions.
	ErrCrowd error = &wamble.Denied{Code: wamble.AccessDenied, Reason: "too many new players from your address"}
	// ErrOver is returned when a stored session cannot be taken up again: it has
	// ended, or its player was away for too long.
	ErrOver = errors.New("the session is over")
	// ErrEntropy is returned when all tokens that were drawn are in use.
	ErrEntropy = errors.New("the entropy gives no new token")
)

// greeting is the hello that made a session: a repetition of the hello, over
// whichever link, gives the same session while that is fresh.
type greeting struct {
	from wamble.Peer
	seq  uint32
}

// Holds says whether a session holds a board; such a session is not evicted.
type Holds func(wamble.SessionID) bool

// Hello returns the session of a hello without a token, or with an unknown one: a
// new session, or that of the same hello before, if it is still fresh. Errors:
// ErrFull, ErrCrowd, ErrEntropy.
func (t *Table) Hello(now time.Time, from wamble.Peer, seq uint32, holds Holds, out intent.Intents) (s *Session, isNew bool, err error) {
	at := t.tick(now)
	g := greeting{from, seq}
	if s := t.greetings[g]; s != nil {
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

// Accept returns a new session with a token that was offered to an address, and has
// come back from there: somebody is there. Nobody else may have the token. Errors:
// ErrFull, ErrCrowd.
func (t *Table) Accept(now time.Time, from wamble.Peer, token wamble.Token, holds Holds, out intent.Intents) (*Session, error) {
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

// admits makes room for one more session of a host.
func (t *Table) admits(at int64, from wamble.Peer, holds Holds) error {
	if !t.makeRoom(holds) {
		return ErrFull
	}
	if !t.hosts.admit(at, from, t.opts.NewPerHost) {
		return ErrCrowd
	}
	if t.opts.Shard.Of > 1 && t.opts.NewPerHost > 0 {
		t.came = append(t.came, Newcomer{wamble.HostOf(from.IP()), from.Stream()})
	}
	return nil
}

// create returns a new session that is in no list yet, with its intent in
// t.intents; nil if no number is left.
func (t *Table) create(at int64, from wamble.Peer, token wamble.Token) *Session {
	id, ok := t.ids.Session()
	if !ok {
		return nil
	}
	hash := token.Hash()
	t.intents.create = intent.CreateSession{Session: id, Token: hash, At: timeOf(at)}
	return &Session{
		id: id, token: token, hash: hash, host: share.HostOf(from.IP()),
		times: times{created: at, heard: at, noted: at},
	}
}

// Forgot returns when the youngest session began that has left memory since the
// table was made: a token that is younger, and not here, is nobody's.
func (t *Table) Forgot() time.Time { return timeOf(t.forgot) }

// SetForgot says that sessions which began up to a time may have left memory.
func (t *Table) SetForgot(at time.Time) { t.forgot = max(t.forgot, micros(at)) }

// Discard takes a session back that Hello has just made: nobody was told of it,
// and its intents will not be kept.
func (t *Table) Discard(s *Session) { t.forget(s) }

func (t *Table) newToken() (wamble.Token, error) {
	for range max(t.opts.TokenAttempts, 1) {
		var token wamble.Token
		if _, err := io.ReadFull(t.entropy, token[:]); err != nil {
			return wamble.Token{}, err
		}
		t.opts.Shard.Own(&token)
		if !token.IsZero() && t.byToken[token] == nil && !t.Over(token) {
			return token, nil
		}
	}
	return wamble.Token{}, ErrEntropy
}

// Admit takes in the stored session of a token. Player is what the store has of its identity,
// nil if it has none, or if the identity is in memory. An anonymous session that
// was not seen for Expiration is over, one of an identity after Lifetime. Errors: ErrOver, ErrFull.
func (t *Table) Admit(now time.Time, token wamble.Token, stored *wamble.Session, player *wamble.Player, holds Holds) (*Session, error) {
	at := t.tick(now)
	if s := t.Find(token); s != nil {
		return s, nil
	}
	if stored.Token != token.Hash() || !t.takes(at, stored) {
		return nil, ErrOver
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

// makeRoom reports whether one more session may be present. If there are too
// many it evicts the one that was silent for longest, holds no board, and is
// stored. Departing sessions, which pile up while the store is away, have the
// same bound.
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

// Yields returns the session that is to leave with Evict so that a newcomer
// gets in after ErrFull, nil if there is none. Sessions that nobody confirmed
// may have a quarter of the places. Otherwise the host that has most loses its
// idlest; if nobody has more than one, an unconfirmed session goes, or one that
// was silent for idleEnough. A host that may make no more sessions evicts nobody.
func (t *Table) Yields(now time.Time, from wamble.Peer) *Session {
	at := t.tick(now)
	fresh, live := t.Unconfirmed(nil, nil), t.lists.live.last
	switch s := t.shares.Yield(share.HostOf(from.IP())); {
	case t.Present() < t.opts.MaxPlayers || t.lists.departing.n >= t.opts.MaxPlayers || t.hosts.exhausted(at, from, t.opts.NewPerHost):
		return nil
	case fresh != nil && t.ManyFresh(t.opts.MaxPlayers):
		return fresh
	case s != nil:
		return s
	case fresh != nil:
		return fresh
	case live != nil && at-live.times.heard >= idleEnough.Microseconds():
		return live
	}
	return nil
}

// ManyFresh reports whether the sessions that nobody confirmed have a quarter of
// so many places, or more.
func (t *Table) ManyFresh(places int) bool { return t.lists.fresh.n*4 >= places }

// Unconfirmed returns one of the oldest sessions that nobody confirmed, other than
// but, which holds a board unless holds is nil; nil if there is none. A connection is
// there, though its player has done nothing yet: only who said hello by a datagram
// may be nobody.
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

// Evict takes a session out of memory as soon as the store has all of it; one that
// holds a board becomes idle.
func (t *Table) Evict(s *Session, holds Holds) {
	if !holds(s.id) {
		t.depart(s)
		return
	}
	t.confirm(s)
	s.times.heard = t.now // idle is in the order of the last sign of life
	t.lists.idle.moveToFront(s)
	t.count(s)
}
