package session

import (
	"bytes"
	"errors"
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
		key := wamble.PublicKey{byte(i % 7)}
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

func TestSnapshot(t *testing.T) {
	tb := busyTable(t)
	check(t, tb)
	state := tb.Snapshot([]byte("before"))[len("before"):]
	again, err := Load(tb.opts, numbers(), entropy(4), state)
	if err != nil {
		t.Fatal(err)
	}
	check(t, again)
	if !bytes.Equal(again.Snapshot(nil), state) {
		t.Error("the snapshot of the snapshot is another")
	}
	// From here on both must answer alike.
	tb.entropy, again.entropy = entropy(5), entropy(5)
	for i := range 100 {
		now := epoch.Add(800*time.Second + time.Duration(i)*time.Minute)
		holds := func(id wamble.SessionID) bool { return id%5 == 0 && i < 60 }
		if got, want := again.Due(now, holds, nil), tb.Due(now, holds, nil); !slices.Equal(got, want) {
			t.Fatalf("minute %d: ended %v, want %v", i, got, want)
		}
		if got, want := again.Applied(uint64(i)), tb.Applied(uint64(i)); got != want {
			t.Fatalf("minute %d: %d forgotten, want %d", i, got, want)
		}
		if !bytes.Equal(again.Snapshot(nil), tb.Snapshot(nil)) {
			t.Fatalf("minute %d: they differ", i)
		}
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
	tb, err := Load(r.opts, numbers(), entropy(4), r.Snapshot(nil))
	if err != nil {
		t.Fatal(err)
	}
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

func TestLoadRefuses(t *testing.T) {
	tb := busyTable(t)
	state := tb.Snapshot(nil)
	for n := range state {
		if _, err := Load(tb.opts, tb.ids, tb.entropy, state[:n]); !errors.Is(err, ErrState) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	for _, tc := range []struct {
		name   string
		change func([]byte) []byte
	}{
		{"a byte too many", func(b []byte) []byte { return append(b, 0) }},
		{"another version", func(b []byte) []byte { b[len(magic)-2] = '9'; return b }},
		{"a huge list", func(b []byte) []byte {
			return append(b[:len(magic)+11:len(magic)+11], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
		}},
	} {
		if _, err := Load(tb.opts, tb.ids, tb.entropy, tc.change(slices.Clone(state))); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(magic))
	f.Add(New(defaultOptions(), numbers(), entropy(1)).Snapshot(nil))
	// A small one: the fuzzer shortens what it finds, byte by byte.
	tb := New(defaultOptions(), numbers(), entropy(1))
	for i := range uint32(3) {
		s, _, err := tb.Hello(epoch, peer("192.0.2.1:1"), i, nil, silence{})
		if err != nil {
			f.Fatal(err)
		}
		if i > 0 {
			tb.NoteActivity(epoch, s, silence{})
			tb.Challenge(epoch, s, wamble.PublicKey{1})
		}
		if i > 1 {
			tb.Link(epoch, s, wamble.PublicKey{1}, nil, silence{})
		}
	}
	f.Add(tb.Snapshot(nil))
	f.Fuzz(func(t *testing.T, state []byte) {
		tb, err := Load(defaultOptions(), numbers(), entropy(1), state)
		if err != nil {
			return
		}
		check(t, tb)
		again, err := Load(defaultOptions(), numbers(), entropy(1), tb.Snapshot(nil))
		if err != nil || !bytes.Equal(again.Snapshot(nil), tb.Snapshot(nil)) {
			t.Fatalf("not read again: %v", err)
		}
		holds := func(wamble.SessionID) bool { return false }
		tb.Due(timeOf(tb.now).Add(time.Hour), holds, nil)
		tb.Applied(tb.newest)
		check(t, tb)
	})
}
