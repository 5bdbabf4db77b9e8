package uci_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"wamble/chess"
	"wamble/chess/uci"
	"wamble/internal/prooftest"
)

// stockfish starts the real engine. A machine without it fails the tests.
func stockfish(t testing.TB) *uci.Engine {
	t.Helper()
	e, err := uci.Start(t.Context(), uci.Config{Command: []string{prooftest.Stockfish(t)}, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestStockfish plays a classical game and one of Chess960 to their end, or for 200
// plies, with the options that limit strength.
func TestStockfish(t *testing.T) {
	e := stockfish(t)
	for _, o := range [][2]string{{"Threads", "1"}, {"Hash", "1"}, {"UCI_LimitStrength", "true"}, {"UCI_Elo", "1400"},
		{"Skill Level", "3"}} {
		if err := e.Set(o[0], o[1]); err != nil {
			t.Fatal(err)
		}
	}
	fischer, err := chess.Chess960(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range []chess.Position{chess.Start(), fischer} {
		if err := e.NewGame(t.Context()); err != nil {
			t.Fatal(err)
		}
		var moves []chess.Move
		var history chess.History
		p := start
		for history = history.Add(&p); len(moves) < 200 && !p.Outcome(history).Over(); history = history.Add(&p) {
			r, err := e.Search(t.Context(), uci.Limit{Nodes: 20, Lines: 2}, start, moves...)
			if err != nil {
				t.Fatalf("after %d plies: %v", len(moves), err)
			}
			moves = append(moves, r.Move)
			p.Apply(r.Move)
		}
		if len(moves) < 5 {
			t.Errorf("the game has only %d plies", len(moves))
		}
	}
	p, err := chess.ParseFEN("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
	if err != nil {
		t.Fatal(err)
	}
	e.Set("UCI_LimitStrength", "false")
	e.Set("Skill Level", "20")
	r, err := e.Search(t.Context(), uci.Limit{Depth: 4, Lines: 3}, p)
	if err != nil || r.Move.String() != "d1d8" || len(r.Lines) != 3 || r.Lines[0].Score.Mate != 1 {
		t.Errorf("got %v, %v, want mate by d1d8 and two other lines", r, err)
	}
}

// Ask an engine for its move.
func Example() {
	ctx := context.Background()
	e, err := uci.Start(ctx, uci.Config{Command: []string{"stockfish"}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	e.Set("Skill Level", "20")

	p, _ := chess.ParseFEN("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
	r, err := e.Search(ctx, uci.Limit{Time: time.Second, Depth: 5}, p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.SAN(r.Move), "mate in", r.Lines[0].Score.Mate)
	// Output: Rd8# mate in 1
}
