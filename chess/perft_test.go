package chess

import "testing"

func TestQuick(t *testing.T) {
	for _, c := range []struct {
		fen   string
		depth int
		want  uint64
	}{
		{StartFEN, 6, 119060324},
		{"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 5, 193690690},
		{"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 7, 178633661},
		{"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 6, 706045033},
		{"rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 5, 89941194},
		{"r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 5, 164075551},
	} {
		p, err := ParseFEN(c.fen)
		if err != nil {
			t.Fatal(c.fen, err)
		}
		if g := p.FEN(); g != c.fen {
			t.Errorf("fen %s", g)
		}
		if got := p.Perft(c.depth); got != c.want {
			t.Errorf("%s: got %d want %d", c.fen, got, c.want)
		}
	}
}

func BenchmarkQuick(b *testing.B) {
	for _, c := range []struct {
		name, fen string
		depth     int
	}{{"start", StartFEN, 5}, {"kiwipete", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 4}} {
		b.Run(c.name, func(b *testing.B) {
			p := mustParse(b, c.fen)
			var n uint64
			for b.Loop() {
				n += p.Perft(c.depth)
			}
			b.ReportMetric(float64(n)/1e6/b.Elapsed().Seconds(), "Mnps")
		})
	}
}

func mustParse(t testing.TB, fen string) Position {
	t.Helper()
	p, err := ParseFEN(fen)
	if err != nil {
		t.Fatalf("ParseFEN(%q): %v", fen, err)
	}
	return p
}
