package session

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/prooftest"
)

// The model is a journal and a store that lags behind it, and clients who keep their tokens.
// A client that was ever answered gets the same session back until it expires, with what it
// has won: from memory, or from the store, which must have all of it by then.
type model struct {
	t       *testing.T
	rng     *rand.Rand
	table   *Table
	ids     IDs
	now     time.Time
	journal []intent.Intent // copies; message n is journal[n-1]
	applied int
	store   map[wamble.TokenHash]*wamble.Session
	byID    map[wamble.SessionID]*wamble.Session
	players map[wamble.PublicKey]*wamble.Player
	linked  map[wamble.PublicKey]map[wamble.SessionID]bool
	clients []*client
	boards  map[wamble.SessionID]bool
	counts  struct{ memory, store, ended, full int }
}

type client struct {
	token   wamble.Token
	session wamble.SessionID
	key     wamble.PublicKey
	seen    time.Time
	games   int
	from    wamble.Peer
	seq     uint32
}

// Add copies an intent into the journal.
func (m *model) Add(i intent.Intent) {
	switch i := i.(type) {
	case *intent.CreateSession:
		m.journal = append(m.journal, copyOf(i))
	case *intent.LinkSession:
		m.journal = append(m.journal, copyOf(i))
	case *intent.RenewToken:
		m.journal = append(m.journal, copyOf(i))
	case *intent.UnlinkSession:
		m.journal = append(m.journal, copyOf(i))
	case *intent.UpdateSessionLastSeen:
		m.journal = append(m.journal, copyOf(i))
	case *intent.RecordMove:
		m.journal = append(m.journal, copyOf(i))
	default:
		m.t.Fatalf("unexpected %T", i)
	}
}

func copyOf[T any](v *T) *T {
	c := *v
	return &c
}

// drain applies n messages.
func (m *model) drain(n int) {
	for ; n > 0 && m.applied < len(m.journal); n-- {
		switch i := m.journal[m.applied].(type) {
		case *intent.CreateSession:
			s := &wamble.Session{ID: i.Session, Token: i.Token, Created: i.At, LastSeen: i.At}
			m.store[i.Token], m.byID[i.Session] = s, s
		case *intent.LinkSession:
			if m.players[i.Key] == nil {
				m.players[i.Key] = &wamble.Player{ID: i.Player, Key: i.Key, Handle: i.Handle}
			}
			p := m.players[i.Key]
			if p.ID != i.Player || p.Handle != i.Handle {
				m.t.Fatalf("key %x is player %d %s, linked as %d %s", i.Key[:1], p.ID, p.Handle, i.Player, i.Handle)
			}
			m.attach(m.byID[i.Session], i.Key)
			m.byID[i.Session].Player, m.byID[i.Session].Handle = i.Player, i.Handle
		case *intent.RenewToken:
			s := m.byID[i.Session]
			delete(m.store, s.Token)
			s.Token, m.store[i.Token] = i.Token, s
		case *intent.UnlinkSession:
			m.attach(m.byID[i.Session], wamble.PublicKey{})
			m.byID[i.Session].Player, m.byID[i.Session].Handle = 0, ""
		case *intent.UpdateSessionLastSeen:
			m.byID[i.Session].LastSeen = i.At
		case *intent.RecordMove:
			m.byID[i.Session].Stats.Games++
		}
		m.applied++
	}
	m.table.Applied(uint64(m.applied))
}

// tie gives a stored session another key.
func (m *model) attach(s *wamble.Session, key wamble.PublicKey) {
	delete(m.linked[s.Key], s.ID)
	s.Key = key
	if m.linked[key] == nil {
		m.linked[key] = map[wamble.SessionID]bool{}
	}
	m.linked[key][s.ID] = true
}

func (m *model) holds(id wamble.SessionID) bool { return m.boards[id] }

// wrote reports the message that was just written to the table.
func (m *model) wrote(s *Session) { m.table.Wrote(s, uint64(len(m.journal))) }

// player returns the stored player of a key.
func (m *model) player(key wamble.PublicKey) *wamble.Player {
	p := m.players[key]
	if p == nil {
		return nil
	}
	all := *p
	for id := range m.linked[key] {
		all.Stats.Games += m.byID[id].Stats.Games
	}
	return &all
}

// find returns the session of a client as a server would: from memory, or from
// the store.
func (m *model) find(c *client) *Session {
	if s := m.table.Find(c.token); s != nil {
		m.counts.memory++
		return s
	}
	stored := m.store[c.token.Hash()]
	if stored == nil {
		m.t.Fatalf("session %d is neither in memory nor in the store", c.session)
	}
	s, err := m.table.Admit(m.now, c.token, stored, m.player(stored.Key), m.holds)
	switch {
	case errors.Is(err, ErrFull):
		m.counts.full++
		return nil
	case errors.Is(err, ErrEnded):
		if c.key.IsZero() && m.now.Sub(c.seen) > m.table.opts.Expiration-storeActivityEvery {
			m.counts.ended++
			m.drop(c)
			return nil
		}
		fallthrough
	case err != nil:
		m.t.Fatalf("session %d: %v", c.session, err)
	}
	m.counts.store++
	m.crowded()
	return s
}

func (m *model) drop(c *client) {
	delete(m.boards, c.session)
	m.clients = slices.DeleteFunc(m.clients, func(o *client) bool { return o == c })
}

// visit makes a client active, and checks that it has the same session as before.
func (m *model) visit(c *client) *Session {
	s := m.find(c)
	if s == nil {
		return nil
	}
	m.table.NoteActivity(m.now, s, m)
	m.wrote(s)
	c.seen = m.now
	key := wamble.PublicKey{}
	if s.Identity() != nil {
		key = s.Identity().Key()
	}
	if s.ID() != c.session || s.Token() != c.token || key != c.key ||
		s.Identity() == nil && int(s.Games().All) != c.games {
		m.t.Fatalf("session %d is %d, key %x, want %x, games %d, want %d", c.session, s.ID(), key[:1], c.key[:1],
			s.Games().All, c.games)
	}
	return s
}

func (m *model) hello() {
	c := &client{from: peer("192.0.2.1:1"), seq: m.rng.Uint32()}
	s, _, err := m.table.Hello(m.now, c.from, c.seq, m.holds, m)
	if errors.Is(err, ErrFull) {
		if m.table.Present() < m.table.opts.MaxPlayers {
			m.t.Fatalf("full with %d", m.table.Present())
		}
		m.counts.full++
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.crowded()
	m.wrote(s)
	if again, isNew, err := m.table.Hello(m.now, c.from, c.seq, m.holds, m); again != s || isNew || err != nil {
		m.t.Fatal("the same hello made another session")
	}
	c.token, c.session, c.seen = s.Token(), s.ID(), m.now
	m.clients = append(m.clients, c)
}

func (m *model) step() {
	if len(m.clients) == 0 || len(m.clients) < 400 && m.rng.IntN(6) == 0 {
		m.hello()
		return
	}
	c := m.clients[m.rng.IntN(len(m.clients))]
	switch n := m.rng.IntN(100); {
	case n < 40:
		m.visit(c)
	case n < 60: // a first move on a board
		if s := m.visit(c); s != nil {
			m.Add(&intent.RecordMove{Session: s.ID(), First: true})
			s.BeginGame(false)
			c.games++
			m.wrote(s)
			m.boards[c.session] = true
		}
	case n < 65:
		if s := m.visit(c); s != nil {
			c.key = wamble.PublicKey{byte(m.rng.IntN(9) + 1)}
			if err := m.table.Link(m.now, s, c.key, m.player(c.key), m); err != nil {
				m.t.Fatal(err)
			}
			m.wrote(s)
		}
	case n < 68:
		if s := m.visit(c); s != nil {
			m.table.Logout(m.now, s, m)
			m.wrote(s)
			m.drop(c)
			m.refused(c)
		}
	case n < 71:
		if s := m.visit(c); s != nil {
			m.table.Goodbye(m.now, s)
			if c.key.IsZero() {
				m.drop(c)
				m.refused(c)
			}
		}
	case n < 76:
		delete(m.boards, c.session)
		m.table.NoteBoardLost(c.session)
	case n < 90:
		m.drain(m.rng.IntN(40))
	default:
		m.pass(time.Duration(m.rng.ExpFloat64() * float64(20*time.Second)))
	}
}

// refused checks that a token that has ended never gets a session again.
func (m *model) refused(c *client) {
	if m.table.Find(c.token) != nil || !m.table.Refused(c.token) {
		m.t.Fatalf("session %d is still there", c.session)
	}
}

func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for _, e := range m.table.Due(m.now, m.holds, nil) {
		delete(m.boards, e.Session)
	}
	if at, ok := m.table.Next(); ok && !at.After(m.now) {
		m.t.Fatalf("at %s something is due since %s", m.now, at)
	}
}

// crowded checks that nobody is admitted when MaxPlayers are there.
func (m *model) crowded() {
	if m.table.Present() > m.table.opts.MaxPlayers {
		m.t.Fatalf("%d are present", m.table.Present())
	}
}

func TestModel(t *testing.T) {
	seed := prooftest.Seed(t)
	for i, most := range []int{2000, 50} {
		o := defaultOptions()
		o.MaxPlayers, o.NewPerHost, o.Expiration = most, 0, 20*time.Minute
		m := &model{
			t: t, rng: rand.New(rand.NewPCG(seed, uint64(i))), ids: numbers(), now: epoch,
			store: map[wamble.TokenHash]*wamble.Session{}, byID: map[wamble.SessionID]*wamble.Session{},
			players: map[wamble.PublicKey]*wamble.Player{}, linked: map[wamble.PublicKey]map[wamble.SessionID]bool{},
			boards: map[wamble.SessionID]bool{},
		}
		m.table = New(o, m.ids, entropy(byte(seed)))
		for step := range prooftest.Part(400_000) {
			m.step()
			if step%1000 == 999 {
				check(t, m.table)
			}
			if step%3000 == 2999 {
				m.table = handOver(t, m.table, m.table.newest)
			}
		}
		check(t, m.table)
		t.Logf("at most %d: %+v, %d messages", most, m.counts, len(m.journal))
		if m.counts.store == 0 || m.counts.memory == 0 {
			t.Error("the store, or memory, was never used")
		}
	}
}
