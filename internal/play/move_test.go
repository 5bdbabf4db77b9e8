package play

import (
	"strings"
	"testing"

	"wamble/chess"
)

func position(t *testing.T, fen string) chess.Position {
	t.Helper()
	p, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTyped(t *testing.T) {
	const (
		start    = chess.StartFEN
		castle   = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
		promote  = "4k3/P7/8/8/8/8/8/4K3 w - - 0 1"
		knights  = "4k3/8/8/8/8/8/8/1N2K1N1 w - - 0 1"
		bishops  = "4k3/8/8/8/2p5/1P6/8/4KB2 w - - 0 1"
		passing  = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1"
		fischer  = "1r2k2r/8/8/8/8/8/8/1R2K2R w HBhb - 0 1"
		checked  = "4k3/8/8/8/8/8/4r3/4K3 w - - 0 1"
		twoRooks = "4k3/8/8/8/8/8/4K3/R6R w - - 0 1"
	)
	for _, c := range []struct{ fen, text, want string }{
		{start, "e4", "e2e4"},
		{start, "E4", "e2e4"},
		{start, "e2e4", "e2e4"},
		{start, "e2-e4", "e2e4"},
		{start, "Nf3", "g1f3"},
		{start, "nf3", "g1f3"},
		{start, "Nf3+", "g1f3"},
		{start, "e5", ""},
		{start, "nonsense", ""},
		{castle, "O-O", "e1g1"},
		{castle, "0-0-0", "e1c1"},
		{castle, "o-o", "e1g1"},
		{castle, "oo", "e1g1"},
		{castle, "Rxa8", "a1a8"},
		{castle, "Ra8", "a1a8"},
		{promote, "a8=Q", "a7a8q"},
		{promote, "a8n", "a7a8n"},
		{promote, "a7a8r", "a7a8r"},
		{promote, "a8", "a7a8b a7a8n a7a8q a7a8r"},
		{promote, "a7a8", "a7a8b a7a8n a7a8q a7a8r"},
		{knights, "Nd2", "b1d2"},
		{bishops, "bc4", "b3c4"}, // the pawn, as it is written
		{bishops, "Bc4", "f1c4"},
		{bishops, "BC4", "b3c4 f1c4"},
		{passing, "ed6", "e5d6"},
		{fischer, "O-O", "e1h1"},
		{checked, "Kxe2", "e1e2"},
		{twoRooks, "Rd1", "a1d1 h1d1"},
	} {
		p := position(t, c.fen)
		var got []string
		for _, m := range Typed(p, c.text) {
			got = append(got, m.String())
		}
		if text := strings.Join(sorted(got), " "); text != c.want {
			t.Errorf("%s: %q: got %q, want %q", c.fen, c.text, text, c.want)
		}
	}
}

func TestComplete(t *testing.T) {
	for prefix, want := range map[string]string{
		"":    "",
		"N":   "Na3 Nc3 Nf3 Nh3",
		"n":   "Na3 Nc3 Nf3 Nh3",
		"e":   "e3 e4",
		"e2":  "e2e3 e2e4",
		"Nf3": "Nf3",
		"zz":  "",
	} {
		if got := strings.Join(Complete(chess.Start(), prefix), " "); got != want {
			t.Errorf("%q: got %q, want %q", prefix, got, want)
		}
	}
}

// FuzzTyped: any typed text gives only legal moves, and every legal move can be typed in both
// notations.
func FuzzTyped(f *testing.F) {
	f.Add(chess.StartFEN, "e4")
	f.Add("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O")
	f.Fuzz(func(t *testing.T, fen, text string) {
		p, err := chess.ParseFEN(fen)
		if err != nil {
			return
		}
		for _, m := range Typed(p, text) {
			if !p.IsLegal(m) {
				t.Errorf("%s: %q gives %s", fen, text, m)
			}
		}
		for _, m := range p.LegalMoves(nil) {
			for _, text := range []string{p.SAN(m), m.String()} {
				if got := Typed(p, text); len(got) != 1 || got[0] != m {
					t.Errorf("%s: %q gives %v, want %s", fen, text, got, m)
				}
			}
		}
	})
}
