package session

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
)

// crowd admits n sessions, every second one with an identity.
func crowd(t testing.TB, n int) (*Table, []wamble.Token) {
	t.Helper()
	o := defaultOptions()
	o.MaxPlayers = n
	tb := New(o, numbers(), entropy(1))
	tokens := make([]wamble.Token, n)
	for i := range tokens {
		binary.BigEndian.PutUint64(tokens[i][:], uint64(i+1)*0x9e3779b97f4a7c15)
		stored := wamble.Session{ID: wamble.SessionID(i + 1), Token: tokens[i].Hash(), LastSeen: epoch}
		if i%2 == 1 {
			binary.BigEndian.PutUint64(stored.Key[:], uint64(i))
			stored.Player, stored.Handle = wamble.PlayerID(i), "h_"+tokens[i].String()[:12]
		}
		if _, err := tb.Admit(epoch, tokens[i], &stored, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	return tb, tokens
}

func TestMemory(t *testing.T) {
	const sessions, most = 100_000, 1024
	before := prooftest.Heap()
	tb, tokens := crowd(t, sessions)
	got := int(prooftest.Heap()-before) / sessions
	t.Logf("%d bytes a session", got)
	if got > most {
		t.Errorf("%d bytes a session, want at most %d", got, most)
	}
	runtime.KeepAlive(tb)
	runtime.KeepAlive(tokens)
}

func TestAllocations(t *testing.T) {
	tb, tokens := crowd(t, 1000)
	now, i := epoch, 0
	holds := func(wamble.SessionID) bool { return true }
	var ended []Ended
	got := testing.AllocsPerRun(5000, func() {
		i++
		now = now.Add(10 * time.Second)
		s := tb.Find(tokens[i%len(tokens)])
		tb.NoteActivity(now, s, silence{})
		tb.Wrote(s, uint64(i))
		tb.Applied(uint64(i) - 1)
		s.BeginGame(true)
		tb.Rating(s)
		tb.Next()
		ended = tb.Due(now, holds, ended[:0])
	})
	if got > 0 {
		t.Errorf("%v allocations a request, want none", got)
	}
}

func BenchmarkHeard(b *testing.B) {
	tb, tokens := crowd(b, 100_000)
	now, i := epoch, 0
	b.ReportAllocs()
	for b.Loop() {
		i += 7919
		now = now.Add(time.Millisecond)
		s := tb.Find(tokens[i%len(tokens)])
		tb.NoteActivity(now, s, silence{})
		tb.Wrote(s, uint64(i))
	}
}

func BenchmarkHello(b *testing.B) {
	o := defaultOptions()
	o.MaxPlayers, o.NewPerHost = 100_000, 0
	tb := New(o, numbers(), entropy(1))
	holds := func(wamble.SessionID) bool { return false }
	seq := uint32(0)
	from := peer("192.0.2.1:1")
	b.ReportAllocs()
	for b.Loop() {
		seq++
		s, _, err := tb.Hello(epoch, from, seq, holds, silence{})
		if err != nil {
			b.Fatal(err)
		}
		tb.NoteActivity(epoch, s, silence{})
	}
}

func BenchmarkHandOver(b *testing.B) {
	tb, _ := crowd(b, 100_000)
	for b.Loop() {
		handOver(b, tb, tb.newest)
	}
}
