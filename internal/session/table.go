package session

import (
	"io"
	"iter"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/lru"
	"wamble/internal/share"
)

// IDs hands out the numbers of new rows, each once; the functions report false if none is left for now.
type IDs struct {
	Session func() (wamble.SessionID, bool)
	Player  func() (wamble.PlayerID, bool)
}

// Table is the sessions of a profile that are in memory. It is used by one goroutine.
type Table struct {
	opts            Options
	ids             IDs
	entropy         io.Reader
	now             int64
	byToken         map[wamble.Token]*Session
	byHash          map[wamble.TokenHash]*Session // sessions whose token is unknown
	byID            map[wamble.SessionID]*Session
	identities      map[wamble.PublicKey]*Identity
	unused          []unusedIdentity            // kept until the store has all of them
	erased          map[wamble.PublicKey]uint64 // the message that erases a key, until the store has it
	lists           lists
	shares          share.Table[Session] // of the fresh and live ones
	greetings       map[greeting]*Session
	hosts           hosts
	newcomers       []Newcomer                             // other shards must count them
	refused         *lru.Table[wamble.TokenHash, struct{}] // refused tokens
	newest          uint64                                 // the last journal message that concerned any session
	applied         uint64                                 // the last journal message that the store has
	intents         intents
	oldestForgotten int64 // creation time of the youngest session that has left memory
	// Connected reports whether a session has an open connection: then silence does not end it before its player
	// has done anything. Nil: no session has one.
	Connected func(*Session) bool
}

// lists are the four lists of doc.go. Every session is in one of them.
type lists struct{ fresh, live, idle, departing list }

// intents is the memory of the table's intents. Intents.Add retains none of them.
type intents struct {
	create intent.CreateSession
	seen   intent.UpdateSessionLastSeen
	link   intent.LinkSession
	unlink intent.UnlinkSession
}

// maxRefused bounds the remembered tokens of ended sessions.
const maxRefused = 1 << 14

// New returns an empty table. Entropy is read for tokens, challenges and handles; it must be as strong as
// crypto/rand.
func New(opts Options, ids IDs, entropy io.Reader) *Table {
	return &Table{
		opts: opts, ids: ids, entropy: entropy,
		byToken:    map[wamble.Token]*Session{},
		byHash:     map[wamble.TokenHash]*Session{},
		byID:       map[wamble.SessionID]*Session{},
		identities: map[wamble.PublicKey]*Identity{},
		erased:     map[wamble.PublicKey]uint64{},
		greetings:  map[greeting]*Session{},
		hosts:      newHosts(),
		refused:    lru.New[wamble.TokenHash, struct{}](maxRefused),
	}
}

// Reconfigure changes the options. Sessions that are late by the new timeouts are handled by the next Due.
func (t *Table) Reconfigure(opts Options) { t.opts = opts }

// tick returns now in microseconds; it never goes back.
func (t *Table) tick(now time.Time) int64 {
	t.now = max(t.now, micros(now))
	return t.now
}

// Len returns how many sessions are in memory, Present how many of them are fresh or live, which MaxPlayers
// bounds.
func (t *Table) Len() int     { return len(t.byID) }
func (t *Table) Present() int { return t.lists.fresh.n + t.lists.live.n }

// Bots returns how many of the present sessions are programs.
func (t *Table) Bots() int { return t.lists.fresh.bots + t.lists.live.bots }

// Find returns the session of a token, nil if it is not in memory.
func (t *Table) Find(token wamble.Token) *Session {
	s := t.byToken[token]
	if s != nil || len(t.byHash) == 0 || token.IsZero() {
		return s
	}
	if s = t.byHash[token.Hash()]; s != nil {
		delete(t.byHash, s.hash)
		s.token, t.byToken[token] = token, s
	}
	return s
}

// ByHash returns the session whose token has a hash, nil if it is not in memory. It scans all sessions.
func (t *Table) ByHash(hash wamble.TokenHash) *Session {
	for s := range t.All() {
		if s.hash == hash {
			return s
		}
	}
	return nil
}

// ByID returns the session with a number, nil if it is not in memory.
func (t *Table) ByID(id wamble.SessionID) *Session { return t.byID[id] }

func (t *Table) inOrder() [4]*list {
	return [4]*list{&t.lists.fresh, &t.lists.live, &t.lists.idle, &t.lists.departing}
}

// All yields every session in memory, in a deterministic order.
func (t *Table) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, l := range t.inOrder() {
			for s := l.last; s != nil; s = s.prev {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Of returns the sessions of a key that are in memory.
func (t *Table) Of(key wamble.PublicKey) []*Session {
	var all []*Session
	if i := t.identities[key]; i != nil && i.sessions > 0 {
		for s := range t.All() {
			if s.identity == i {
				all = append(all, s)
			}
		}
	}
	return all
}

// Refuses reports whether the token with a hash is refused, as Over does.
func (t *Table) Refuses(hash wamble.TokenHash) bool { return t.refused.Find(hash) != nil }

// Refused reports whether a token is that of a session that has ended, and must not be looked up in the store.
func (t *Table) Refused(token wamble.Token) bool { return t.refused.Find(token.Hash()) != nil }

// NoteActivity records a sign of life of a session, which becomes confirmed and live. The time is stored at most
// once per storeActivityEvery. Heard reports whether anything has changed: a second sign at the same time changes
// nothing.
func (t *Table) NoteActivity(now time.Time, s *Session, out intent.Intents) bool {
	at := t.tick(now)
	if s.times.lastSeen == at && s.list == &t.lists.live && s.greeting == nil &&
		at-s.times.lastStored < storeActivityEvery.Microseconds() {
		return false
	}
	t.confirm(s)
	s.times.lastSeen = at
	t.lists.live.moveToFront(s)
	t.count(s)
	t.shares.Touch(&s.share)
	if at-s.times.lastStored >= storeActivityEvery.Microseconds() {
		s.times.lastStored = at
		t.intents.seen = intent.UpdateSessionLastSeen{Session: s.id, At: timeOf(at)}
		out.Add(&t.intents.seen)
	}
	return true
}

// Wrote says that message seq of the journal concerns the session, which stays in memory until the store
// has applied it. Numbers must ascend.
func (t *Table) Wrote(s *Session, seq uint64) {
	s.seq = max(s.seq, seq)
	t.newest = max(t.newest, seq)
	if s.list == &t.lists.departing {
		t.lists.departing.moveToFront(s) // the list is in the order of seq
	}
}

// Applied says that the store has all messages up to seq. It removes the departing sessions that have
// waited for that, and returns how many.
func (t *Table) Applied(seq uint64) int {
	t.applied = max(t.applied, seq)
	n := 0
	for s := t.lists.departing.last; s != nil && s.seq <= t.applied; s = t.lists.departing.last {
		t.forget(s)
		n++
	}
	t.forgetUnused()
	t.forgetErased()
	return n
}

// add adds a session to the table.
func (t *Table) add(s *Session, l *list) {
	if t.byID[s.id] = s; s.token.IsZero() {
		t.byHash[s.hash] = s
	} else {
		t.byToken[s.token] = s
	}
	l.add(s)
	t.count(s)
}

// Place sets the host of a session.
func (t *Table) Place(s *Session, host share.Host) {
	s.host = host
	t.count(s)
}

// count counts s for its host while it is fresh or live.
func (t *Table) count(s *Session) {
	present := s.list == &t.lists.fresh || s.list == &t.lists.live
	switch counted := s.share.Host() != 0; {
	case present && !counted && s.host != 0:
		t.shares.Add(&s.share, s, s.host)
	case !present && counted:
		t.shares.Remove(&s.share)
	}
}

// depart removes a session as soon as the store has all of it, which may be now.
func (t *Table) depart(s *Session) {
	t.confirm(s)
	if s.seq <= t.applied {
		t.forget(s)
		return
	}
	s.seq = t.newest // may be later than necessary: the list is in the order of seq
	t.lists.departing.moveToFront(s)
	t.count(s)
}

// forget removes a session from memory.
func (t *Table) forget(s *Session) {
	t.confirm(s)
	t.oldestForgotten = max(t.oldestForgotten, s.times.created)
	s.list.remove(s)
	t.count(s)
	delete(t.byToken, s.token)
	delete(t.byHash, s.hash)
	delete(t.byID, s.id)
	if i := s.identity; i != nil {
		t.dropSession(i, t.newest)
		t.forgetUnused()
	}
}

// confirm drops the greeting of a session.
func (t *Table) confirm(s *Session) {
	if s.greeting != nil {
		if t.greetings[*s.greeting] == s { // otherwise Hello has made another session of it
			delete(t.greetings, *s.greeting)
		}
		s.greeting = nil
	}
}
