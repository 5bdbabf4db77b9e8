package board

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/prooftest"
)

// longGame returns a game of n plies that uses as much memory as a game can: no capture and
// no pawn move in its last 99 plies, every move by another player.
func longGame(t testing.TB, n int) *wamble.Board {
	t.Helper()
	for seed := range uint64(1000) {
		if b := tryLongGame(n, newRand(seed)); b != nil {
			return b
		}
	}
	t.Fatalf("no game of %d plies", n)
	return nil
}

func tryLongGame(n int, rng *rand.Rand) *wamble.Board {
	p := chess.Start()
	h := chess.History(nil).Add(&p)
	b := &wamble.Board{Variant: -1, Status: wamble.Reserved, Created: epoch}
	for ply := 1; ply <= n; ply++ {
		var fit []chess.Move
		for _, m := range p.LegalMoves(nil) {
			next := p.Play(m)
			quiet := next.HalfmoveClock() > 0
			if over := next.Outcome(slices.Clone(h).Add(&next)).Over(); !over &&
				(ply <= n-100 || quiet == (ply > n-99)) {
				fit = append(fit, m)
			}
		}
		if len(fit) == 0 {
			return nil
		}
		m := fit[rng.IntN(len(fit))]
		p = p.Play(m)
		h = h.Add(&p)
		b.Moves = append(b.Moves, wamble.Move{Ply: ply, UCI: m.String(), Session: wamble.SessionID(ply),
			At: epoch.Add(time.Duration(ply) * time.Hour)})
	}
	b.FEN = p.FEN()
	return b
}

// TestMemory measures the memory of a held board, everything included.
func TestMemory(t *testing.T) {
	for _, tc := range []struct{ plies, boards, most int }{
		{0, prooftest.Sized(20_000, 100_000, 100_000), 1024},
		{20, prooftest.Sized(20_000, 100_000, 100_000), 1024},
		{200, prooftest.Sized(4000, 20_000, 20_000), 4096},
	} {
		t.Run(fmt.Sprintf("ply %d", tc.plies), func(t *testing.T) {
			stored := longGame(t, tc.plies)
			before := prooftest.Heap()
			p := New(defaultOptions(), counter(0), newRand(1))
			for id := range tc.boards {
				stored.ID = wamble.BoardID(id + 1)
				stored.Holder = &wamble.Reservation{Session: wamble.SessionID(id + 1), At: epoch,
					Expires: epoch.Add(time.Hour)}
				if err := p.Restore(epoch, stored, silence{}); err != nil {
					t.Fatal(err)
				}
			}
			got := int(prooftest.Heap()-before) / tc.boards
			t.Logf("%d bytes a board, %d moves, %d keys", got, len(p.Board(1).plies), len(p.Board(1).history))
			if got > tc.most {
				t.Errorf("%d bytes a board, want at most %d", got, tc.most)
			}
			runtime.KeepAlive(p)
		})
	}
}
