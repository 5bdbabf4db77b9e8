package novice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"wamble/chess"
	"wamble/chess/novice"
)

func position(t testing.TB, fen string) chess.Position {
	t.Helper()
	p, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct{ name, fen, want string }{
		{"mate in one", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8"},
		{"mate in one for Black", "3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"},
		{"takes a queen", "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5"},
		{"the only move", "7k/8/8/8/8/8/1q6/K7 w - - 0 1", "a1b2"},
		{"promotes", "8/P7/1k6/8/8/8/8/K7 w - - 0 1", "a7a8q"},
		{"takes in passing", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6"},
	} {
		for seed := range uint64(50) {
			m, ok := novice.Player{Seed: seed}.Choose(position(t, tc.fen))
			if got := m.String(); !ok || got != tc.want {
				t.Errorf("%s, seed %d: got %s, want %s", tc.name, seed, got, tc.want)
			}
		}
	}
	if m, ok := (novice.Player{}).Choose(position(t, "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")); ok {
		t.Errorf("got %s in a stalemate", m)
	}
}

// TestSeed: one seed always plays the same, several play differently.
func TestSeed(t *testing.T) {
	first := map[chess.Move]bool{}
	for seed := range uint64(40) {
		m, _ := novice.Player{Seed: seed}.Choose(chess.Start())
		again, _ := novice.Player{Seed: seed}.Choose(chess.Start())
		if m != again {
			t.Errorf("seed %d plays %s, then %s", seed, m, again)
		}
		first[m] = true
	}
	if len(first) < 3 {
		t.Errorf("40 seeds open with %d moves, want 3 at least", len(first))
	}
}

// TestBeatsChance: the novice wins most games against random moves, and loses none.
func TestBeatsChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const games = 6
	wins := 0
	for game := range games {
		own := chess.Color(game % 2)
		p := chess.Start()
		var h chess.History
		var o chess.Outcome
		for h = h.Add(&p); !o.Over(); h = h.Add(&p) {
			moves := p.LegalMoves(nil)
			m := moves[random.IntN(len(moves))]
			if p.Turn() == own {
				m, _ = novice.Player{Seed: uint64(game)}.Choose(p)
			}
			p.Apply(m)
			o = p.Outcome(append(h[:len(h):len(h)], p.Key()))
		}
		switch {
		case o.Result == chess.Draw:
		case (o.Result == chess.WhiteWins) == (own == chess.White):
			wins++
		default:
			t.Errorf("game %d is lost: %s", game, o.Reason)
		}
	}
	if wins < games/2 {
		t.Errorf("won %d of %d games against chance", wins, games)
	}
}

func Example() {
	p, _ := chess.ParseFEN("r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4")
	m, _ := novice.Player{}.Choose(p)
	fmt.Println(p.SAN(m))
	// Output: Qxf7#
}

func BenchmarkChoose(b *testing.B) {
	p := position(b, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
	for b.Loop() {
		novice.Player{}.Choose(p)
	}
}
