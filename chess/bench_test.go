package chess

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkPerft reports millions of leaves per second, one core, last ply
// counted in bulk.
func BenchmarkPerft(b *testing.B) {
	for _, c := range []struct {
		name, fen string
		depth     int
	}{
		{"start", StartFEN, 5},
		{"kiwipete", kiwipete, 4},
		{"endgame", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 6},
		{"promotions", "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 5},
		{"open", "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 4},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := mustParse(b, c.fen)
			var leaves uint64
			for b.Loop() {
				leaves += p.Perft(c.depth)
			}
			b.ReportMetric(float64(leaves)/1e6/b.Elapsed().Seconds(), "Mnps")
		})
	}
}

// BenchmarkMove measures a server's work for one UCI move: validate and play.
func BenchmarkMove(b *testing.B) {
	p := mustParse(b, kiwipete)
	moves := []string{"e1g1", "d5e6", "f3h3", "e2a6", "a2a4"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m, err := p.ParseUCI(moves[i%len(moves)])
		if err != nil {
			b.Fatal(err)
		}
		sink = p.Play(m)
	}
}

var sink Position

// BenchmarkCalls times the other calls of a server's hot path.
func BenchmarkCalls(b *testing.B) {
	p := mustParse(b, kiwipete)
	h := History(nil).Add(&p)
	moves := make([]Move, 0, MaxMoves)
	text := make([]byte, 0, MaxFEN)
	m := p.LegalMoves(nil)[0]
	for _, c := range []struct {
		name string
		call func()
	}{
		{"LegalMoves", func() { moves = p.LegalMoves(moves[:0]) }},
		{"LegalFrom", func() { moves = p.LegalFrom(moves[:0], m.From()) }},
		{"CountLegal", func() { p.CountLegal() }},
		{"Play", func() { sink = p.Play(m) }},
		{"Outcome", func() { p.Outcome(h) }},
		{"Key", func() { p.Key() }},
		{"AppendFEN", func() { text = p.AppendFEN(text[:0]) }},
		{"ParseFEN", func() { sink, _ = ParseFEN(kiwipete) }},
		{"AppendSAN", func() { text = p.AppendSAN(text[:0], m) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call()
			}
		})
	}
}

// BenchmarkManyBoards measures moves as in a server: another board for every move, so that
// only the tables of this package are in the cache.
func BenchmarkManyBoards(b *testing.B) {
	type request struct {
		p   Position
		uci string
	}
	var requests []request
	randomGames(b, 500, 120, func(p Position, _ []Move, m Move) {
		if m != 0 {
			requests = append(requests, request{p, m.String()})
		}
	})
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(requests), func(i, j int) {
		requests[i], requests[j] = requests[j], requests[i]
	})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := &requests[i%len(requests)]
		m, err := r.p.ParseUCI(r.uci)
		if err != nil {
			b.Fatal(err)
		}
		sink = r.p.Play(m)
		if sink.Outcome(nil).Reason > FivefoldRepetition {
			b.Fatal("no such reason")
		}
	}
}
