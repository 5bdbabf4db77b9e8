package chess

import (
	"testing"
	"time"

	rival "github.com/corentings/chess/v2"

	"wamble/chess"
)

func rivalPerft(p *rival.Position, depth int) uint64 {
	moves := p.ValidMoves()
	if depth == 1 {
		return uint64(len(moves))
	}
	var nodes uint64
	for i := range moves {
		nodes += rivalPerft(p.Update(&moves[i]), depth-1)
	}
	return nodes
}

// BenchmarkPerft runs both sides alternately, so that the machine's other work slows both,
// and reports millions of leaves per second and their ratio. Both count the last ply in bulk.
func BenchmarkPerft(b *testing.B) {
	for _, c := range []struct {
		name, fen        string
		ours, theirs     int // depth
		leaves, fraction uint64
	}{
		{"start", starts[0], 6, 4, 119060324, 197281},
		{"kiwipete", starts[1], 5, 3, 193690690, 97862},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := newDuel(b, c.fen)
			var ours, theirs time.Duration
			for b.Loop() {
				start := time.Now()
				if got := d.ours.Perft(c.ours); got != c.leaves {
					b.Fatalf("ours: %d, want %d", got, c.leaves)
				}
				ours += time.Since(start)
				start = time.Now()
				// Positions of the rival keep their moves: begin afresh.
				if got := rivalPerft(newDuel(b, c.fen).theirs.Position(), c.theirs); got != c.fraction {
					b.Fatalf("theirs: %d, want %d", got, c.fraction)
				}
				theirs += time.Since(start)
			}
			rate := func(leaves uint64, d time.Duration) float64 {
				return float64(leaves) * float64(b.N) / 1e6 / d.Seconds()
			}
			b.ReportMetric(rate(c.leaves, ours), "ours-Mnps")
			b.ReportMetric(rate(c.fraction, theirs), "theirs-Mnps")
			b.ReportMetric(rate(c.leaves, ours)/rate(c.fraction, theirs), "ratio")
		})
	}
}

// BenchmarkMove validates and plays one UCI move on both sides.
func BenchmarkMove(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		p := chess.Start()
		b.ReportAllocs()
		for b.Loop() {
			m, err := p.ParseUCI("g1f3")
			if err != nil {
				b.Fatal(err)
			}
			if next := p.Play(m); next.Turn() != chess.Black {
				b.Fatal("not played")
			}
		}
	})
	b.Run("theirs", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			game := rival.NewGame()
			if err := game.PushNotationMove("g1f3", rival.UCINotation{}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
