package session

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// epoch is when the clocks of the tests start.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// said keeps the intents as short texts.
type said []string

func (s *said) Add(i intent.Intent) {
	switch i := i.(type) {
	case *intent.CreateSession:
		*s = append(*s, fmt.Sprintf("create %d", i.Session))
	case *intent.UpdateSessionLastSeen:
		*s = append(*s, fmt.Sprintf("seen %d", i.Session))
	case *intent.LinkSession:
		*s = append(*s, fmt.Sprintf("link %d to %d %s rated %v", i.Session, i.Player, i.Handle[:2], i.Rating))
	case *intent.UnlinkSession:
		*s = append(*s, fmt.Sprintf("unlink %d", i.Session))
	default:
		*s = append(*s, i.Kind().String())
	}
}

// silence drops intents.
type silence struct{}

func (silence) Add(intent.Intent) {}

// entropy is the same each time.
func entropy(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func numbers() IDs {
	var sessions wamble.SessionID
	var players wamble.PlayerID
	return IDs{
		Session: func() (wamble.SessionID, bool) { sessions++; return sessions, true },
		Player:  func() (wamble.PlayerID, bool) { players++; return players, true },
	}
}

// defaultOptions are those of a profile that sets none.
func defaultOptions() Options {
	return Options{
		MaxPlayers:    1024,
		Unconfirmed:   time.Minute,
		Away:          5 * time.Minute,
		Expiration:    24 * time.Hour,
		NewPerHost:    60,
		Logins:        30,
		TokenAttempts: 1000,
		DefaultRating: 1200,
	}
}

// rig is a table with its clock, and the holders of boards.
type rig struct {
	*Table
	t     *testing.T
	now   time.Time
	said  said
	board map[wamble.SessionID]bool
	seq   uint32
}

func newRig(t *testing.T, change func(*Options)) *rig {
	o := defaultOptions()
	if change != nil {
		change(&o)
	}
	return &rig{Table: New(o, numbers(), entropy(1)), t: t, now: epoch, board: map[wamble.SessionID]bool{}}
}

func (r *rig) after(d time.Duration) { r.now = r.now.Add(d) }

func (r *rig) holds(id wamble.SessionID) bool { return r.board[id] }

func peer(address string) wamble.Peer { return wamble.Peer{Addr: netip.MustParseAddrPort(address)} }

// hello makes a new session.
func (r *rig) hello() *Session {
	r.t.Helper()
	r.seq++
	s, isNew, err := r.Hello(r.now, peer("192.0.2.1:5000"), r.seq, r.holds, &r.said)
	if err != nil || !isNew {
		r.t.Fatalf("hello: new %v, %v", isNew, err)
	}
	return s
}

// heard makes a new session that is confirmed.
func (r *rig) heard() *Session {
	r.t.Helper()
	s := r.hello()
	r.NoteActivity(r.now, s, &r.said)
	return s
}

func (r *rig) expect(want ...string) {
	r.t.Helper()
	if got := []string(r.said); !slices.Equal(got, want) {
		r.t.Errorf("got  %q\nwant %q", got, want)
	}
	r.said = nil
	check(r.t, r.Table)
}

// listOf names the list of a session.
func (r *rig) listOf(id wamble.SessionID) string {
	s := r.ByID(id)
	if s == nil {
		return "nowhere"
	}
	for i, l := range r.inOrder() {
		if s.list == l {
			return [...]string{"fresh", "live", "idle", "departing"}[i]
		}
	}
	return "lost"
}

// check fails if the table contradicts itself.
func check(t testing.TB, tb *Table) {
	t.Helper()
	n := 0
	users := map[*Identity]int{}
	for _, l := range tb.inOrder() {
		in := 0
		for s := l.last; s != nil; s = s.prev {
			n++
			in++
			if s.list != l || (tb.byToken[s.token] != s) == (tb.byHash[s.hash] != s) || tb.byID[s.id] != s {
				t.Fatalf("session %d is not where it should be", s.id)
			}
			if (s.greeting != nil) != (l == &tb.lists.fresh) || s.greeting != nil && tb.greetings[*s.greeting] != s {
				t.Fatalf("session %d: greeting %v", s.id, s.greeting)
			}
			if s.prev != nil && l != &tb.lists.departing && s.prev.times.lastSeen < s.times.lastSeen {
				t.Fatalf("session %d was heard after %d", s.id, s.prev.id)
			}
			if s.prev != nil && l == &tb.lists.departing && s.prev.seq < s.seq {
				t.Fatalf("session %d departs before %d", s.id, s.prev.id)
			}
			if s.identity != nil {
				users[s.identity]++
			}
		}
		if in != l.n {
			t.Fatalf("%d sessions in a list of %d", in, l.n)
		}
	}
	if n != len(tb.byToken)+len(tb.byHash) || n != len(tb.byID) || len(tb.greetings) != tb.lists.fresh.n {
		t.Fatalf("%d sessions, %d tokens, %d numbers, %d greetings", n, len(tb.byToken), len(tb.byID),
			len(tb.greetings))
	}
	for i, count := range users {
		if i.sessions != count || tb.identities[i.key] != i {
			t.Fatalf("identity %d has %d sessions, says %d", i.id, count, i.sessions)
		}
	}
	for _, i := range tb.identities {
		waits := slices.ContainsFunc(tb.unused, func(f unusedIdentity) bool { return f.identity == i })
		if i.sessions != users[i] || i.sessions == 0 && !waits {
			t.Fatalf("identity %d: %d of %d sessions, unused %v", i.id, users[i], i.sessions, waits)
		}
	}
}
