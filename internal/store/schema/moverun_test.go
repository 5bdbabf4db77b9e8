package schema

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// TestMoveRuns: runs have the moves that they were made of, none of them too many or twice;
// moves that are not in order make no run.
func TestMoveRuns(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	texts := []string{"e2e4", "a7a8q", `"\`, "é<", " ", "a]b", `",0]`}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var moves []*intent.RecordMove
		for board := range wamble.BoardID(1 + rng.IntN(4)) {
			ply := rng.IntN(3)
			for range rng.IntN(100) {
				if ply++; rng.IntN(20) == 0 {
					ply += 2
				}
				at := start.Add(time.Duration(rng.IntN(1e9)) * time.Microsecond)
				moves = append(moves, &intent.RecordMove{Board: board + 1, Session: wamble.SessionID(1 + rng.IntN(9)),
					UCI: texts[rng.IntN(len(texts))], Ply: ply, At: at})
			}
		}
		runs, ok := MoveRuns(moves)
		if !ok {
			t.Fatalf("seed %d: moves in order are refused", seed)
		}
		i := 0
		for _, run := range runs {
			board, read, err := scanRun(scanning(run))
			if err != nil || board != run.Board || len(read) != run.Count || run.Count > maxRun ||
				!json.Valid([]byte(run.Moves)) {
				t.Fatalf("seed %d: got %d moves of a run of %d, %v: %s", seed, len(read), run.Count, err, run.Moves)
			}
			for _, m := range read {
				got := intent.RecordMove{Board: board, Session: m.Session, UCI: m.UCI, Ply: m.Ply, At: m.At}
				if got != *moves[i] {
					t.Fatalf("seed %d: got %+v, want %+v", seed, got, *moves[i])
				}
				i++
			}
		}
		if i != len(moves) {
			t.Fatalf("seed %d: got %d moves, want %d", seed, i, len(moves))
		}
		if len(moves) == 0 {
			continue
		}
		again := slices.Insert(slices.Clone(moves), rng.IntN(len(moves)+1), moves[rng.IntN(len(moves))])
		if _, ok := MoveRuns(again); ok {
			t.Fatalf("seed %d: a move that is there twice is taken", seed)
		}
	}
}

// scanning is a row with a run.
func scanning(r MoveRun) Scan {
	return func(into ...any) error {
		*into[0].(*wamble.BoardID), *into[1].(*int), *into[3].(*[]byte) = r.Board, r.First, []byte(r.Moves)
		return into[2].(*moment).Scan(r.Ended)
	}
}

// TestBadRun: a run that a host wrote by hand is read if it is JSON, and refused otherwise.
func TestBadRun(t *testing.T) {
	run := MoveRun{Board: 3, First: 5, Ended: time.Unix(1, 0), Moves: "[ [1, \"e2e4\", 0],\n\t[2,\"e7e5\",7] ]"}
	if _, moves, err := scanRun(scanning(run)); err != nil || len(moves) != 2 || moves[1].UCI != "e7e5" ||
		moves[1].Ply != 6 {
		t.Errorf("with blanks: got %+v, %v", moves, err)
	}
	for _, text := range []string{"[1]", "[[1]]", `[["1","e2e4",0]]`, `[[1,"e2e4",0`, `[[1,"e2e4",0]`, "[[],[", "x",
		`[[1,"e2e4",0]]x`, `[[1,"e2e4",0]x[1,"e2e4",0]]`} {
		run.Moves = text
		var bad *BadData
		if _, moves, err := scanRun(scanning(run)); !errors.As(err, &bad) {
			t.Errorf("%s: got %+v, %v, want *BadData", text, moves, err)
		}
	}
}
