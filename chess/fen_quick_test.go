package chess

import (
	"math/rand/v2"
	"testing"
)

// slowPlacement reads the first field byte by byte.
func slowPlacement(text string) (board, int, bool) {
	r := fenReader{text: text}
	for rank := 7; rank >= 0 && r.err == nil; rank-- {
		r.rank(rank)
		if rank > 0 {
			if r.peek() != '/' {
				r.failf("no slash")
			}
			r.at++
		}
	}
	return r.white, r.at, r.err == nil && (r.at == len(text) || text[r.at] == ' ')
}

// Quick and slow agree on positions, and on texts that were damaged by a byte or two: quick
// accepts exactly what slow accepts.
func TestQuickPlacement(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const alphabet = "pnbrqkPNBRQK12345678/ 09xX"
	good, bad := 0, 0
	check := func(text string) {
		t.Helper()
		wantBoard, wantEnd, want := slowPlacement(text)
		gotBoard, gotEnd, got := quickPlacement(text)
		if got != want || got && (gotBoard != wantBoard || gotEnd != wantEnd) {
			t.Fatalf("%q: quick %v %d %v, slow %v %d %v", text, gotBoard, gotEnd, got, wantBoard, wantEnd, want)
		}
		if want {
			good++
		} else {
			bad++
		}
	}
	for range 300 {
		p := Start()
		for range 200 {
			moves := p.LegalMoves(nil)
			if len(moves) == 0 {
				break
			}
			p = p.Play(moves[rng.IntN(len(moves))])
			fen := p.FEN()
			check(fen)
			text := []byte(fen)
			for range 1 + rng.IntN(2) {
				switch at := rng.IntN(len(text)); rng.IntN(3) {
				case 0:
					text[at] = alphabet[rng.IntN(len(alphabet))]
				case 1:
					text = append(text[:at], text[at+1:]...)
				default:
					text = append(text[:at+1], text[at:]...)
					text[at] = alphabet[rng.IntN(len(alphabet))]
				}
			}
			check(string(text))
		}
	}
	for _, text := range []string{"", " ", "8", "8/8/8/8/8/8/8/8", "8/8/8/8/8/8/8/8/", "8/8/8/8/8/8/8/8/8",
		"/8/8/8/8/8/8/8/8", "88888888",
		"44/8/8/8/8/8/8/8", "7/8/8/8/8/8/8/8", "p7/8/8/8/8/8/8/8", "8/8/8/8/8/8/8/7P", "pppppppp/8/8/8/8/8/8/8 w",
		"8/8/8/8/8/8/8/71", "8/8//8/8/8/8/8/8"} {
		check(text)
	}
	if good < 1000 || bad < 1000 {
		t.Errorf("%d good and %d bad ones were tried", good, bad)
	}
}
