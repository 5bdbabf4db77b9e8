package uci_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"wamble/chess"
	"wamble/internal/prooftest"
)

// TestPerft: this module and Stockfish count the same moves, three plies deep, from
// positions of random games, half of them of Chess960.
func TestPerft(t *testing.T) {
	random := prooftest.Random(t)
	positions := make([]chess.Position, prooftest.Part(500))
	var script strings.Builder
	for i := range positions {
		p := chess.Start()
		if i%2 == 1 {
			p, _ = chess.Chess960(random.IntN(960))
		}
		for plies := random.IntN(120); plies > 0; plies-- {
			moves := p.LegalMoves(nil)
			if len(moves) == 0 {
				break
			}
			p.Apply(moves[random.IntN(len(moves))])
		}
		positions[i] = p
		fmt.Fprintf(&script, "setoption name UCI_Chess960 value %t\nposition fen %s\ngo perft 3\n", p.Chess960(), p)
	}
	cmd := exec.CommandContext(t.Context(), prooftest.Stockfish(t))
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "Nodes searched: ")
		if !ok {
			continue
		}
		want, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seen == len(positions) {
			t.Fatalf("%q for position %d: %v", text, seen, err)
		}
		if got := positions[seen].Perft(3); got != want {
			t.Errorf("%s: got %d, Stockfish has %d", positions[seen], got, want)
		}
		seen++
	}
	if seen != len(positions) {
		t.Errorf("Stockfish answered for %d of %d positions", seen, len(positions))
	}
}
