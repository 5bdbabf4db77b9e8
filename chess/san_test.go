package chess

import (
	"errors"
	"testing"
)

func TestSAN(t *testing.T) {
	for _, c := range []struct{ name, fen, uci, san string }{
		{"pawn", StartFEN, "e2e4", "e4"},
		{"knight", StartFEN, "g1f3", "Nf3"},
		{"pawn takes", kiwipete, "d5e6", "dxe6"},
		{"queen takes", kiwipete, "f3f6", "Qxf6"},
		{"castling short", kiwipete, "e1g1", "O-O"},
		{"castling long", kiwipete, "e1c1", "O-O-O"},
		{"960 castling short", "4k3/8/8/8/8/8/8/6KR w H - 0 1", "g1h1", "O-O"},
		{"960 castling long", "4k3/8/8/8/8/8/8/RK6 w A - 0 1", "b1a1", "O-O-O"},
		{"960 king's step beside castling", "4k3/8/8/8/8/8/8/R2K4 w A - 0 1", "d1c1", "Kc1"},
		{"castling with check", "5k2/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1", "O-O+"},
		{"by file", "4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "a1d1", "Rd1"},
		{"by file, two rooks", "4k3/8/8/8/8/8/4K3/R6R w - - 0 1", "a1d1", "Rad1"},
		{"by rank", "4k3/8/R7/8/8/8/R7/4K3 w - - 0 1", "a2a4", "R2a4"},
		{"by file and rank", "4k3/8/8/8/8/Q6Q/8/Q3K3 w - - 0 1", "a3d3", "Qad3"},
		{"by both", "8/k7/8/4Q2Q/8/8/8/1K5Q w - - 0 1", "h5e2", "Qhe2"},
		{"by both, three queens", "8/k7/8/8/4Q2Q/8/8/1K5Q w - - 0 1", "h4e1", "Qh4e1"},
		{"a pinned rival does not count", "3rk3/8/8/8/8/3N4/8/3K1N2 w - - 0 1", "f1e3", "Ne3"},
		{"en passant", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "e5d6", "exd6"},
		{"promotion", "8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", "a8=Q"},
		{"promotion with capture and check", "1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7b8r", "axb8=R+"},
		{"promotion to a knight", "4k3/8/8/8/8/8/p7/4K3 b - - 0 1", "a2a1n", "a1=N"},
		{"mate", "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "d8h4", "Qh4#"},
		{"discovered check", "4k3/8/8/8/8/8/4N3/4RK2 w - - 0 1", "e2c3", "Nc3+"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, c.fen)
			m, err := p.ParseUCI(c.uci)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.SAN(m); got != c.san {
				t.Errorf("%s is written %s, want %s", c.uci, got, c.san)
			}
			if back, err := p.ParseSAN(c.san); back != m || err != nil {
				t.Errorf("%s is read as %s, %v; want %s", c.san, back, err, c.uci)
			}
		})
	}
}

func TestParseSANTolerance(t *testing.T) {
	for _, c := range []struct{ fen, san, uci string }{
		{StartFEN, "Ng1f3", "g1f3"},
		{StartFEN, "Ngf3", "g1f3"},
		{StartFEN, "N1f3", "g1f3"},
		{"rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "Qh4", "d8h4"},
	} {
		if m, err := mustParse(t, c.fen).ParseSAN(c.san); m.String() != c.uci || err != nil {
			t.Errorf("%s is read as %s, %v; want %s", c.san, m, err, c.uci)
		}
	}
}

func TestBadSAN(t *testing.T) {
	malformed := errors.New("malformed")
	for _, c := range []struct {
		fen, san string
		want     error
	}{
		{StartFEN, "e5", ErrIllegal},
		{StartFEN, "Nf4", ErrIllegal},
		{StartFEN, "O-O", ErrIllegal},
		{StartFEN, "Nxf3", ErrIllegal},
		{StartFEN, "exd3", ErrIllegal},
		{StartFEN, "Nbf3", ErrIllegal},
		{kiwipete, "de6", malformed},
		{kiwipete, "Qf6", ErrIllegal},
		{"4k3/8/8/8/8/8/4K3/R6R w - - 0 1", "Rd1", ErrAmbiguous},
		{"4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8", ErrIllegal},
		{"4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8Q", malformed},
		{"4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8=K", malformed},
		{"4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8=q", malformed},
		{"4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8=", malformed},
		{StartFEN, "e4+", malformed},
		{StartFEN, "e4#", malformed},
		{"rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2", "Qh4+", malformed},
		{StartFEN, "", malformed},
		{StartFEN, "e", malformed},
		{StartFEN, "N", malformed},
		{StartFEN, "e4e", malformed},
		{StartFEN, "e2e4", malformed},
		{StartFEN, "Pe4", malformed},
		{StartFEN, "nf3", malformed},
		{StartFEN, "Nf3 ", malformed},
		{StartFEN, "Nf3!", malformed},
		{StartFEN, "Ng1xxf3", malformed},
		{StartFEN, "N1gf3", malformed},
		{StartFEN, "0-0", malformed},
		{StartFEN, "o-o", malformed},
		{StartFEN, "O-O-O-O", malformed},
		{StartFEN, "=Q", malformed},
		{StartFEN, "+", malformed},
		{StartFEN, "x+", malformed},
		{StartFEN, "Ng1f3+++++++", malformed},
	} {
		m, err := mustParse(t, c.fen).ParseSAN(c.san)
		var parse *ParseError
		if c.want == malformed && !errors.As(err, &parse) || c.want != malformed && err != c.want {
			t.Errorf("ParseSAN(%q) = %s, %v; want %v", c.san, m, err, c.want)
		}
		if parse != nil && parse.Offset > len(c.san) {
			t.Errorf("ParseSAN(%q): offset %d is behind its end", c.san, parse.Offset)
		}
	}
}

// FuzzSAN: a move that is read can be written, and read again.
func FuzzSAN(f *testing.F) {
	for _, seed := range []string{"e4", "Nf3", "O-O", "O-O-O+", "exd8=Q#", "Qh4e1", "R2a4", "Nbxd7"} {
		f.Add(kiwipete, seed)
		f.Add(StartFEN, seed)
	}
	f.Add("4k3/8/8/8/8/8/8/R2K4 w A - 0 1", "Kc1")
	f.Fuzz(func(t *testing.T, fen, san string) {
		p, err := ParseFEN(fen)
		if err != nil {
			p = Start()
		}
		m, err := p.ParseSAN(san)
		if err != nil {
			var parse *ParseError
			if err != ErrIllegal && err != ErrAmbiguous && (!errors.As(err, &parse) || parse.Offset > len(san)) {
				t.Fatalf("ParseSAN(%q): %v", san, err)
			}
			return
		}
		written := p.SAN(m)
		if back, err := p.ParseSAN(written); back != m || err != nil {
			t.Fatalf("%s: %q is %s, written %q, read %s, %v", p, san, m, written, back, err)
		}
	})
}
