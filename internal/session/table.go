package session

import (
	"io"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/lru"
)

// IDs hands out the numbers of new rows, each only once; false when none is
// left for now.
type IDs struct {
	Session func() (wamble.SessionID, bool)
	Player  func() (wamble.PlayerID, bool)
}

// Table is the sessions of a profile that are in memory. It belongs to one
// goroutine.
type Table struct {
	opts       Options
	ids        IDs
	entropy    io.Reader
	now        int64
	byToken    map[wamble.Token]*Session
	byID       map[wamble.SessionID]*Session
	identities map[wamble.PublicKey]*Identity
	partings
	rolls     rolls
	greetings map[greeting]*Session
	hosts     hosts
	over      *lru.Table[wamble.Token, struct{}] // tokens that are refused
	newest    uint64                             // the latest message of the journal that concerned anybody
	applied   uint64                             // what the store has
	intents   intents
}

// partings are identities that go, and wait for the store to know it.
type partings struct {
	fading []faded                     // without a session
	erased map[wamble.PublicKey]uint64 // and the message that says so
}

// rolls are the four lists; every session is in one of them.
type rolls struct{ fresh, live, idle, departing roll }

// intents is the memory of what the table says: Add is done with an intent when
// it returns.
type intents struct {
	create intent.CreateSession
	seen   intent.UpdateSessionLastSeen
	link   intent.LinkSession
	unlink intent.UnlinkSession
}

// maxOver is how many ended sessions are remembered.
const maxOver = 1 << 14

// New returns an empty table. Entropy is read for tokens, challenges and
// handles: it must be as good as crypto/rand.
func New(opts Options, ids IDs, entropy io.Reader) *Table {
	return &Table{
		opts: opts, ids: ids, entropy: entropy,
		byToken:    map[wamble.Token]*Session{},
		byID:       map[wamble.SessionID]*Session{},
		identities: map[wamble.PublicKey]*Identity{},
		partings:   partings{erased: map[wamble.PublicKey]uint64{}},
		greetings:  map[greeting]*Session{},
		hosts:      newHosts(),
		over:       lru.New[wamble.Token, struct{}](maxOver),
	}
}

// Reconfigure changes the options. Sessions that are late by the new timeouts
// go with the next Due.
func (t *Table) Reconfigure(opts Options) { t.opts = opts }

// tick returns now in microseconds; it never goes back.
func (t *Table) tick(now time.Time) int64 {
	t.now = max(t.now, micros(now))
	return t.now
}

// Len returns how many sessions are in memory, Present how many of them are
// fresh or live: those that MaxPlayers bounds.
func (t *Table) Len() int     { return len(t.byToken) }
func (t *Table) Present() int { return t.rolls.fresh.n + t.rolls.live.n }

// Find returns the session of a token, nil if it is not in memory.
func (t *Table) Find(token wamble.Token) *Session { return t.byToken[token] }

// ByID returns the session with a number, nil if it is not in memory.
func (t *Table) ByID(id wamble.SessionID) *Session { return t.byID[id] }

// Over reports whether a token is that of a session that said goodbye or logged
// out: it is not to be looked for in the store.
func (t *Table) Over(token wamble.Token) bool { return t.over.Find(token) != nil }

// Heard takes a sign of life of a session: it is confirmed, and live. It is kept
// at most once a minute that it was seen. It reports whether that is news: a
// second sign at the same time is not.
func (t *Table) Heard(now time.Time, s *Session, out intent.Intents) bool {
	at := t.tick(now)
	if s.times.heard == at && s.roll == &t.rolls.live && s.greeting == nil && at-s.times.noted < noteEvery.Microseconds() {
		return false
	}
	t.confirm(s)
	s.times.heard = at
	t.rolls.live.enter(s)
	if at-s.times.noted >= noteEvery.Microseconds() {
		s.times.noted = at
		t.intents.seen = intent.UpdateSessionLastSeen{Session: s.id, At: timeOf(at)}
		out.Add(&t.intents.seen)
	}
	return true
}

// Wrote says that message seq of the journal concerns the session: it stays in
// memory until the store has applied it. Numbers only grow.
func (t *Table) Wrote(s *Session, seq uint64) {
	s.seq = max(s.seq, seq)
	t.newest = max(t.newest, seq)
	if s.roll == &t.rolls.departing {
		t.rolls.departing.enter(s) // the roll must be in the order of numbers
	}
}

// Applied says that the store has all messages up to seq, and forgets who has
// waited for that. It returns how many that were.
func (t *Table) Applied(seq uint64) int {
	t.applied = max(t.applied, seq)
	n := 0
	for s := t.rolls.departing.last; s != nil && s.seq <= t.applied; s = t.rolls.departing.last {
		t.forget(s)
		n++
	}
	t.fade()
	t.forgetErased()
	return n
}

// add puts a session into the table.
func (t *Table) add(s *Session, l *roll) {
	t.byToken[s.token], t.byID[s.id] = s, s
	l.add(s)
}

// depart lets a session go to the store: at once if the store has all of it.
func (t *Table) depart(s *Session) {
	t.confirm(s)
	if s.seq <= t.applied {
		t.forget(s)
		return
	}
	s.seq = t.newest // at least; the roll must be in this order
	t.rolls.departing.enter(s)
}

// forget removes a session from memory.
func (t *Table) forget(s *Session) {
	t.confirm(s)
	s.roll.remove(s)
	delete(t.byToken, s.token)
	delete(t.byID, s.id)
	if i := s.identity; i != nil {
		t.unuse(i, t.newest)
		t.fade()
	}
}

// confirm forgets the greeting of a session.
func (t *Table) confirm(s *Session) {
	if s.greeting != nil {
		delete(t.greetings, *s.greeting)
		s.greeting = nil
	}
}
