package chess

import (
	"slices"
	"testing"

	"wamble/internal/prooftest"
)

// randomGames plays games with random moves, every second one of Chess960,
// and shows every position with the move that will be played (0 at the end).
func randomGames(t testing.TB, games, plies int, see func(p Position, legal []Move, m Move)) {
	t.Helper()
	rng := prooftest.Random(t)
	for game := range games * prooftest.Sized(1, 4, 20) {
		p := Start()
		if game%2 == 1 {
			var err error
			if p, err = Chess960(rng.IntN(960)); err != nil {
				t.Fatal(err)
			}
		}
		for range plies {
			moves := p.LegalMoves(nil)
			if len(moves) == 0 {
				see(p, moves, 0)
				break
			}
			m := moves[rng.IntN(len(moves))]
			see(p, moves, m)
			p = p.Play(m)
		}
	}
}

// TestRandomGamesAgainstReference is the proof that does not rest on published figures.
func TestRandomGamesAgainstReference(t *testing.T) {
	castled, taken := 0, 0
	randomGames(t, 12, 160, func(p Position, legal []Move, m Move) {
		got := make([]string, len(legal))
		for i, m := range legal {
			got[i] = m.String()
		}
		slices.Sort(got)
		want := newReference(p.FEN()).legal()
		if !slices.Equal(got, want) {
			t.Fatalf("%s\ngot  %v\nwant %v", p.FEN(), got, want)
		}
		if m.Castling() {
			castled++
		}
		if m.EnPassant() {
			taken++
		}
	})
	t.Logf("castled %d times, took in passing %d times", castled, taken)
}

// TestEveryViewOfAPositionAgrees: counting, listing, one square at a time, and the notations
// agree; a position survives its FEN.
func TestEveryViewOfAPositionAgrees(t *testing.T) {
	randomGames(t, 20, 200, func(p Position, legal []Move, _ Move) {
		if got, want := p.CountLegal(), len(legal); got != want {
			t.Fatalf("%s: CountLegal = %d, want %d", p, got, want)
		}
		if got, want := p.board.movable(epSet(p.epFile)), len(legal) > 0; got != want {
			t.Fatalf("%s: movable = %v, want %v", p, got, want)
		}
		var bySquare []Move
		for s := range Square(64) {
			bySquare = p.LegalFrom(bySquare, s)
		}
		slices.Sort(bySquare)
		sorted := slices.Sorted(slices.Values(legal))
		if !slices.Equal(bySquare, sorted) {
			t.Fatalf("%s: by square %v, at once %v", p, bySquare, sorted)
		}
		if back := mustParse(t, p.FEN()); back != p {
			t.Fatalf("%s became %s", p, back)
		}
		if got, want := p.InCheck(),
			newReference(p.FEN()).attacked(int(squareOf(p, King)), p.Turn() == Black); got != want {
			t.Fatalf("%s: InCheck = %v, want %v", p, got, want)
		}
		seen := map[string]bool{}
		for _, m := range legal {
			if back, err := p.ParseUCI(m.String()); back != m || err != nil {
				t.Fatalf("%s: ParseUCI(%s) = %s, %v", p, m, back, err)
			}
			san := p.SAN(m)
			if seen[san] || len(san) > maxSAN {
				t.Fatalf("%s: %s is written twice, or too long", p, san)
			}
			seen[san] = true
			if back, err := p.ParseSAN(san); back != m || err != nil {
				t.Fatalf("%s: ParseSAN(%s) = %s, %v; want %s", p, san, back, err, m)
			}
		}
	})
}

// squareOf returns where the piece of the side to move stands.
func squareOf(p Position, kind Kind) Square {
	for s := range Square(64) {
		if p.PieceAt(s) == (Piece{kind, p.Turn()}) {
			return s
		}
	}
	return NoSquare
}
