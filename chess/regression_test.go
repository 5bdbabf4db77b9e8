package chess

import "testing"

var namedRules = []struct {
	name    string
	fen     string
	legal   string // UCI, separated by spaces
	illegal string
	moves   int
}{
	{name: "castling with a pinned rook", fen: "4k3/8/8/8/8/8/8/rR2K1N1 w Q - 0 1", illegal: "e1b1 e1c1", legal: "b1a1", moves: 11},
	{name: "castling out of check", fen: "4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1", illegal: "e1g1 e1c1", legal: "e1e2", moves: 3},
	{name: "castling through check", fen: "4k3/8/8/8/8/8/5r2/R3K3 w Q - 0 1", illegal: "e1f1", legal: "e1c1 e1f2", moves: 0},
	{name: "castling over an attacked square", fen: "3rk3/8/8/8/8/8/8/R3K2R w KQ - 0 1", illegal: "e1c1", legal: "e1g1"},
	{name: "castling into check", fen: "4k1r1/8/8/8/8/8/8/R3K2R w KQ - 0 1", illegal: "e1g1", legal: "e1c1"},
	{name: "b1 may be attacked when castling long", fen: "1r2k3/8/8/8/8/8/8/R3K3 w Q - 0 1", legal: "e1c1"},
	{name: "the rook may be attacked when castling", fen: "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", legal: "e1g1 e1c1", moves: 26},
	{name: "castling over a piece", fen: "4k3/8/8/8/8/8/8/RN2K1NR w KQ - 0 1", illegal: "e1g1 e1c1"},
	{name: "castling without the right", fen: "4k3/8/8/8/8/8/8/R3K2R w Q - 0 1", illegal: "e1g1", legal: "e1c1"},
	{name: "king takes rook is not classical castling", fen: "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", illegal: "e1h1 e1a1", legal: "e1g1 e1c1"},
	{name: "two steps are not Chess960 castling", fen: "4k3/8/8/8/8/8/8/R3K2R w HA - 0 1", legal: "e1h1 e1a1", illegal: "e1g1 e1c1"},
	{name: "960: king already on its target", fen: "4k3/8/8/8/8/8/8/6KR w H - 0 1", legal: "g1h1"},
	{name: "960: rook already on its target", fen: "4k3/8/8/8/8/8/8/4KR2 w F - 0 1", legal: "e1f1"},
	{name: "960: king and rook change places", fen: "4k3/8/8/8/8/8/8/5KR1 w G - 0 1", legal: "f1g1"},
	{name: "960: long, king on c and rook on d change places with nobody", fen: "4k3/8/8/8/8/8/8/R1K5 w A - 0 1", legal: "c1a1"},
	{name: "960: long castling, rook on b, king on c", fen: "4k3/8/8/8/8/8/8/1RK5 w B - 0 1", legal: "c1b1"},
	{name: "960: the way of the rook is blocked", fen: "4k3/8/8/8/8/8/8/RNK5 w A - 0 1", illegal: "c1a1"},
	{name: "960: king to the left of g passes an attacked square", fen: "4kr2/8/8/8/8/8/8/1K5R w H - 0 1", illegal: "b1h1"},
	{name: "960: castling rook pinned on the rank", fen: "4k3/8/8/8/8/8/8/5KRr w G - 0 1", illegal: "f1g1", legal: "g1h1"},
	{name: "960: a plain step beside castling", fen: "4k3/8/8/8/8/8/8/4K1R1 w G - 0 1", legal: "e1g1 e1f1"},
	{name: "en passant uncovers a check along the rank", fen: "8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 2", illegal: "e5d6", legal: "e5e6"},
	{name: "en passant uncovers a check along the diagonal", fen: "8/6b1/8/3pP3/8/2K5/8/4k3 w - d6 0 2", illegal: "e5d6"},
	{name: "en passant along the pin", fen: "7b/8/8/4Pp2/8/8/1K6/4k3 w - f6 0 2", legal: "e5f6"},
	{name: "en passant takes the checker", fen: "8/8/8/3pP3/2K5/8/8/4k3 w - d6 0 2", legal: "e5d6"},
	{name: "en passant blocks no foreign check", fen: "4k3/8/8/3pP3/8/8/8/K6r w - d6 0 2", illegal: "e5d6"},
	{name: "en passant wraps around to the h-file", fen: "4k3/8/8/p6P/8/8/8/4K3 w - a6 0 2", illegal: "h5a6", legal: "h5h6"},
	{name: "en passant wraps around to the a-file", fen: "4k3/8/8/P6p/8/8/8/4K3 w - h6 0 2", illegal: "a5h6", legal: "a5a6"},
	{name: "en passant for Black", fen: "4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1", legal: "e4d3"},
	{name: "captures do not wrap around", fen: "4k3/8/8/p7/7P/p7/8/4K3 w - - 0 1", illegal: "h4a5 h4a6", legal: "h4h5"},
	{name: "double check: only the king moves", fen: "4r1k1/8/8/8/8/5n2/3R4/4K3 w - - 0 1", illegal: "d2e2 d2d3", legal: "e1d1 e1f1 e1f2"},
	{name: "the king does not hide behind itself", fen: "4r1k1/8/8/8/4K3/8/8/8 w - - 0 1", illegal: "e4e3", legal: "e4d3"},
	{name: "a pinned knight stays", fen: "4r1k1/8/8/8/4N3/8/8/4K3 w - - 0 1", illegal: "e4d6 e4c3"},
	{name: "a pinned pawn may push along the pin", fen: "4r1k1/8/8/8/8/8/4P3/4K3 w - - 0 1", legal: "e2e3 e2e4"},
	{name: "a pinned pawn may not capture off the pin", fen: "4r1k1/8/8/8/8/3p4/4P3/4K3 w - - 0 1", illegal: "e2d3"},
	{name: "a pawn pinned on the diagonal may take the pinner", fen: "6k1/8/8/8/8/6b1/5P2/4K3 w - - 0 1", legal: "f2g3", illegal: "f2f3"},
	{name: "a promotion needs its letter", fen: "4k3/P7/8/8/8/8/8/4K3 w - - 0 1", legal: "a7a8q a7a8r a7a8b a7a8n", illegal: "a7a8"},
	{name: "only promotions have a letter", fen: StartFEN, legal: "e2e4", illegal: "e2e4q g1f3n", moves: 20},
	{name: "218 moves", fen: "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", legal: "f1e2", moves: 218},
}

// TestNamedRules is the list of rules that move generators get wrong.
func TestNamedRules(t *testing.T) {
	for _, c := range namedRules {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, c.fen)
			checkLegality(t, p, c.legal, nil)
			checkLegality(t, p, c.illegal, ErrIllegal)
			if got := len(p.LegalMoves(nil)); c.moves != 0 && got != c.moves {
				t.Errorf("%d legal moves, want %d", got, c.moves)
			}
			// The mirrored board must give the same count.
			if got, want := mustParse(t, mirrored(c.fen)).Perft(3), p.Perft(3); got != want {
				t.Errorf("mirrored: perft 3 = %d, want %d", got, want)
			}
		})
	}
}
