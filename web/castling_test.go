package web_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"wamble/chess"
)

// TestCastling: to the king's target square on a standard board, to the own rook on a
// Chess960 board.
func TestCastling(t *testing.T) {
	t.Parallel()
	t.Run("standard", func(t *testing.T) {
		t.Parallel()
		h := serve(t, conf(alone))
		p := meet(t, desk)
		p.sit(h.url)
		for _, uci := range strings.Fields("e2e4 e7e5 g1f3 g8f6 f1e2 f8e7") {
			p.move(byClick, uci[:2], uci[2:])
		}
		p.move(byDrag, "e1", "g1")
		p.until(`document.querySelector('[data-man="K"][data-at="g1"]') && document.querySelector('[data-man="R"][data-at="f1"]')`)
	})
	t.Run("Chess960", func(t *testing.T) {
		t.Parallel()
		h := serve(t, conf(alone+` (def chess960-interval 1)`))
		p := meet(t, desk)
		p.sit(h.url)
		p.reads(".tag", "Chess960")
		moves := wayToCastle(t, p.fen())
		t.Logf("%s: %v", p.fen(), moves)
		for _, m := range moves {
			p.move(byClick, m.From().String(), m.To().String())
		}
		p.reads(".trail", "O-O")
		castled := moves[len(moves)-1]
		king, rook, row := "g", "f", castled.From().String()[1:]
		if castled.To() < castled.From() {
			king, rook = "c", "d"
		}
		piece := map[string]string{"1": "KR", "8": "kr"}[row]
		p.until(`document.querySelector('[data-man="` + piece[:1] + `"][data-at="` + king + row + `"]') &&
			document.querySelector('[data-man="` + piece[1:] + `"][data-at="` + rook + row + `"]')`)
	})
}

// wayToCastle returns a short game from a position that ends in castling.
func wayToCastle(t *testing.T, fen string) []chess.Move {
	t.Helper()
	start, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(960, 960))
	var best []chess.Move
	for range 4000 {
		position, line := start, []chess.Move(nil)
		for len(line) < 16 && (best == nil || len(line) < len(best)) {
			legal := position.LegalMoves(nil)
			if len(legal) == 0 {
				break
			}
			m := legal[r.IntN(len(legal))]
			for _, c := range legal {
				if c.Castling() {
					m = c
				}
			}
			line = append(line, m)
			if m.Castling() {
				if best == nil || len(line) < len(best) {
					best = line
				}
				break
			}
			if m.Promotion() != chess.None {
				break
			}
			position = position.Play(m)
		}
	}
	if best == nil {
		t.Fatalf("no way to castle was found from %s", fen)
	}
	return best
}
