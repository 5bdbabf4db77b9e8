package session

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/pack"
)

// busyTable is a table with a session in every list, identities, challenges and ended
// sessions.
func busyTable(t testing.TB) *Table {
	t.Helper()
	tb := New(defaultOptions(), numbers(), entropy(3))
	holds := func(id wamble.SessionID) bool { return id%5 == 0 }
	now := epoch
	for i := range uint32(40) {
		now = now.Add(20 * time.Second)
		from := peer("192.0.2.1:5000")
		if i%3 == 0 {
			from = peer("[2001:db8::7%eth1]:9")
			from.Route = i
		}
		s, _, err := tb.Hello(now, from, i, holds, silence{})
		if err != nil {
			t.Fatal(err)
		}
		if i < 38 {
			tb.NoteActivity(now, s, silence{})
		}
		s.BeginGame(i%2 == 0)
		s.trust = int32(int(i) - 3)
		if i%6 == 0 {
			s.SetBot()
		}
		s.SetLastBoard(wamble.BoardID(i))
		s.SetTerms(RevisionOf([32]byte{9}), i%2 == 0)
		key := wamble.PublicKey{byte(i%7 + 1)}
		switch {
		case i%4 == 1:
			if err := tb.Link(now, s, key, nil, silence{}); err != nil {
				t.Fatal(err)
			}
		case i%4 == 2:
			tb.Challenge(now, s, wamble.PublicKey{1})
		}
		tb.Wrote(s, uint64(i+10))
		switch {
		case i%9 == 5:
			tb.Goodbye(now, s)
		case i%11 == 5:
			tb.Logout(now, s, silence{})
		}
		tb.Applied(uint64(i) / 2)
		tb.Due(now, holds, nil)
	}
	if _, err := tb.Restore(now, &wamble.Session{ID: 900, Token: wamble.Token{9}.Hash(), LastSeen: now},
		nil); err != nil {
		t.Fatal(err)
	}
	tb.Erase(now, wamble.PublicKey{5}, 0, silence{})
	tb.Erased(wamble.PublicKey{5}, 70)
	for i, l := range tb.inOrder() {
		if l.n == 0 {
			t.Fatalf("list %d is empty", i)
		}
	}
	if len(tb.unused) == 0 || tb.refused.Len() == 0 {
		t.Fatal("nobody has left")
	}
	return tb
}

// stateOf returns what a table hands over: the states of sessions, of identities, and the rest.
func stateOf(t *Table) (sessions, identities, ended, handoff []byte) {
	for s := range t.All() {
		sessions = s.AppendState(sessions)
	}
	for i := range t.WalkIdentities(true) {
		identities = i.AppendState(identities)
	}
	return sessions, identities, t.AppendEnded(nil), t.AppendHandoff(nil)
}

// handOver returns a table that goes on with the sessions of another one, which has all messages up to seq in the
// journal.
func handOver(t testing.TB, old *Table, seq uint64) *Table {
	t.Helper()
	tb := New(old.opts, old.ids, old.entropy)
	sessions, identities, ended, handoff := stateOf(old)
	r := pack.NewReader(ended)
	tb.ReadEnded(&r, seq)
	players := map[wamble.PublicKey]*wamble.Player{}
	for r := pack.NewReader(identities); r.Remaining() > 0; {
		p := ReadPlayer(&r)
		players[p.Key] = &p
	}
	now := timeOf(old.now)
	for r := pack.NewReader(sessions); r.Remaining() > 0; {
		s := ReadResumed(&r)
		s.HandedOver = true
		if _, err := tb.Resume(now, &s, players[s.Key], false, seq); err != nil {
			t.Fatal(err)
		}
	}
	for key, p := range players {
		if tb.Identity(key) == nil {
			tb.ResumeIdentity(p, seq)
		}
	}
	if err := tb.ReadHandoff(handoff); err != nil {
		t.Fatal(err)
	}
	for token, s := range old.byToken {
		tb.Place(tb.Find(token), s.host)
	}
	tb.Applied(old.applied)
	return tb
}

func TestHandOver(t *testing.T) {
	tb := busyTable(t)
	check(t, tb)
	again := handOver(t, tb, 100)
	check(t, again)
	same := func(when string) {
		t.Helper()
		is, _, _, hands := stateOf(again)
		was, _, _, had := stateOf(tb)
		if !bytes.Equal(is, was) || !bytes.Equal(hands, had) || len(again.identities) != len(tb.identities) {
			t.Fatalf("%s: they differ", when)
		}
	}
	same("at once")
	tb.Applied(100)
	again.Applied(100)
	// From here on both must answer alike.
	tb.entropy, again.entropy = entropy(5), entropy(5)
	for i := range 100 {
		now := epoch.Add(800*time.Second + time.Duration(i)*time.Minute)
		holds := func(id wamble.SessionID) bool { return id%5 == 0 && i < 60 }
		if got, want := again.Due(now, holds, nil), tb.Due(now, holds, nil); !slices.Equal(got, want) {
			t.Fatalf("minute %d: ended %v, want %v", i, got, want)
		}
		if got, want := again.Applied(uint64(100+i)), tb.Applied(uint64(100+i)); got != want {
			t.Fatalf("minute %d: %d forgotten, want %d", i, got, want)
		}
		same(fmt.Sprintf("minute %d", i))
	}
}

// TestHandOverErased: a player who came back with an erased key, before the store has erased it, goes on.
func TestHandOverErased(t *testing.T) {
	r := newRig(t, nil)
	key := wamble.PublicKey{5}
	for range 2 {
		s := r.hello()
		if err := r.Link(r.now, s, key, nil, silence{}); err != nil {
			t.Fatal(err)
		}
		if s.ID() == 1 {
			r.Erase(r.now, key, 0, silence{})
			r.Erased(key, 70)
		}
	}
	if tb := handOver(t, r.Table, 70); tb.ByID(2) == nil || !tb.Erasing(key) {
		t.Errorf("erasing: %v, the session: %v", tb.Erasing(key), tb.ByID(2))
	}
}

// TestHandOverSilent: a repeated hello does not get a session whose token was not handed over, but a new one.
func TestHandOverSilent(t *testing.T) {
	r := newRig(t, nil)
	old := r.hello()
	g := *old.greeting
	tb := New(r.opts, r.ids, r.entropy)
	holds := func(wamble.SessionID) bool { return false }
	was := ReadResumed(new(pack.NewReader(old.AppendState(nil))))
	was.HandedOver = true
	silent, err := tb.Resume(r.now, &was, nil, false, 1)
	if err == nil {
		err = tb.ReadHandoff(r.AppendHandoff(nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	s, isNew, err := tb.Hello(r.now, g.from, g.seq, holds, silence{})
	if err != nil || !isNew || s.Token().IsZero() {
		t.Fatalf("new %v, %v", isNew, err)
	}
	tb.confirm(silent)
	if again, isNew, err := tb.Hello(r.now, g.from, g.seq, holds, silence{}); again != s || isNew || err != nil {
		t.Errorf("the same hello once more: new %v, %v", isNew, err)
	}
}

// TestBotsStay: the next process has the marks of programs, after a handoff and after a
// crash, and programs are counted while they are present.
func TestBotsStay(t *testing.T) {
	r := newRig(t, nil)
	s := r.hello()
	r.hello()
	s.SetBot()
	s.SetBot()
	tb := handOver(t, r.Table, 1)
	if r.Bots() != 1 || tb.Bots() != 1 || !tb.Find(s.Token()).Bot() {
		t.Errorf("%d bots became %d", r.Bots(), tb.Bots())
	}
	from := pack.NewReader(s.AppendState(nil))
	was := ReadResumed(&from)
	other := newRig(t, nil)
	if back, err := other.Resume(other.now, &was, nil, false, 1); err != nil || !back.Bot() || other.Bots() != 1 {
		t.Errorf("after a crash: %v, %d bots, %v", back, other.Bots(), err)
	}
	if r.Goodbye(r.now, s); r.Bots() != 0 {
		t.Errorf("%d bots are here after the goodbye", r.Bots())
	}
}

func TestReadHandoffRefuses(t *testing.T) {
	tb := busyTable(t)
	state := tb.AppendHandoff(nil)
	for _, tc := range []struct {
		name  string
		state []byte
	}{
		{"a byte too many", append(slices.Clone(state), 0)},
		{"cut off", state[:len(state)-1]},
		{"a session that is not there", append(pack.Writer{0, 1}, 2, 0, 0, 0, 0, 0, 0)},
	} {
		if err := New(tb.opts, tb.ids, tb.entropy).ReadHandoff(tc.state); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func FuzzReadHandoff(f *testing.F) {
	tb := busyTable(f)
	state := tb.AppendHandoff(nil)
	f.Add(state)
	f.Fuzz(func(t *testing.T, state []byte) {
		again := handOver(t, tb, 100)
		if again.ReadHandoff(state) != nil {
			return
		}
		check(t, again)
		again.Due(timeOf(again.now).Add(time.Hour), func(wamble.SessionID) bool { return false }, nil)
		again.Applied(again.newest)
		check(t, again)
	})
}
