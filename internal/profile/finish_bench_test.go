package profile

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// drawnGame returns a game of n plies, each by another session, that no rule has
// ended.
func drawnGame(tb testing.TB, n int) *wamble.Board {
	tb.Helper()
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := chess.Start()
		h := chess.History(nil).Add(&p)
		b := &wamble.Board{Variant: -1, Status: wamble.Dormant, Created: epoch.Add(-time.Hour)}
		for len(b.Moves) < n && !p.Outcome(h).Over() {
			legal := p.LegalMoves(nil)
			m := legal[rng.IntN(len(legal))]
			p = p.Play(m)
			h = h.Add(&p)
			b.Moves = append(b.Moves, wamble.Move{Ply: len(b.Moves) + 1, UCI: m.String(),
				Session: wamble.SessionID(1000 + len(b.Moves)), Handle: "h_0001", Rating: 1200, At: epoch})
		}
		if len(b.Moves) == n && !p.Outcome(h).Over() {
			b.FEN = p.FEN()
			return b
		}
	}
	tb.Fatalf("no game of %d plies", n)
	return nil
}

// enders is a crowd in which every board is one ply before its end.
type enders struct {
	*crowd
	plies int
}

// newEnders restores boards before their last ply; all their players are in memory, or none
// of them.
func newEnders(tb testing.TB, plies, boards, players int, here bool) *enders {
	tb.Helper()
	conf := fmt.Sprintf(`(def max-boards %d) (def min-boards 0) (def max-players 100000) (def max-client-sessions 100000) (def max-moves-per-board %d)
		(def rate-limit-requests-per-sec 0) (def rate-limit-ip-requests-per-sec 0)`, boards, plies)
	c := emptyCrowd(tb, conf)
	b := drawnGame(tb, plies-1)
	for i := range boards {
		b.ID = wamble.BoardID(i + 1)
		c.step(&RestoreBoard{Board: *b})
	}
	s := wamble.Session{LastSeen: epoch}
	session := func(id int) {
		s.ID, s.Token, s.Key = wamble.SessionID(id), hashOf(wamble.Token{1, byte(id), byte(id >> 8)}),
			wamble.PublicKey{1, byte(id), byte(id >> 8)}
		c.step(&RestoreSession{Session: s})
	}
	for i := range players {
		session(i + 1)
		c.players = append(c.players, mover{peer: peerAt(i), token: tokenOf(s.Token), id: s.ID})
	}
	for i := 0; here && i < plies-1; i++ {
		session(1000 + i)
	}
	c.greet(tb)
	return &enders{c, plies}
}

// last prepares the next last move of a game, and reports whether one is left.
func (e *enders) last() bool {
	for range e.players {
		m := &e.players[e.next]
		e.next = (e.next + 1) % len(e.players)
		b := e.p.boards.Held(m.id)
		if b == nil || b.Plies() != e.plies-1 {
			continue
		}
		uci, _ := wire.MakeUCI(b.Position().LegalMoves(nil)[0].String())
		m.seq++
		packet, _ := wire.Append(nil, wire.Header{Token: m.token, Board: b.ID(), Seq: m.seq}, wire.PlayerMove{UCI: uci})
		e.inputs = append(e.inputs[:0], &Durable{Index: e.index, Seq: e.seq}, &Applied{Seq: e.seq},
			&Packet{Peer: m.peer, Data: packet})
		e.now = e.now.Add(time.Millisecond)
		return true
	}
	return false
}

// One operation is the move that ends a game of so many plies, each by another
// player with a rating: payouts, changes of ratings, the next board.
func BenchmarkEnd(b *testing.B) {
	for _, plies := range []int{2, 40, 100} {
		for _, here := range []bool{true, false} {
			b.Run(fmt.Sprintf("plies=%d/here=%v", plies, here), func(b *testing.B) { benchmarkEnd(b, plies, here) })
		}
	}
}

func benchmarkEnd(b *testing.B, plies int, here bool) {
	var e *enders
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu, ends := time.Duration(0), uint64(0)
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		if e == nil || !e.last() {
			e = newEnders(b, plies, 1000, 500, here)
			if !e.last() {
				b.Fatal("no game is about to end")
			}
		}
		b.StartTimer()
		before := cpuTime()
		e.run()
		cpu += cpuTime() - before
		ends += uint64(len(e.out.Finished))
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
	if ends != uint64(b.N) {
		b.Fatalf("%d of %d games ended", ends, b.N)
	}
}

// TestEndAllocations: the end of a game allocates no more than the outputs that tell of it.
func TestEndAllocations(t *testing.T) {
	e := newEnders(t, 40, 300, 100, false)
	total, n := 0.0, 0
	for e.last() {
		first := true
		allocs := testing.AllocsPerRun(1, func() {
			if !first {
				e.run()
			}
			first = false
		})
		if n++; n > 50 { // all memory has grown
			total += allocs
		}
	}
	perEnd := total / float64(n-50)
	t.Logf("%.1f allocations per end, of %d games", perEnd, n)
	if n < 100 || perEnd > 12 {
		t.Errorf("got %.1f allocations per end of %d games, want at most 12", perEnd, n)
	}
}
