package schema

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// TestMoveRuns: runs hold the moves that they were made of, none of them too many or
// twice; of moves that are not in order there are none.
func TestMoveRuns(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC)
	texts := []string{"e2e4", "a7a8q", `"\`, "é<", " "}
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
				moves = append(moves, &intent.RecordMove{Board: board + 1, Session: wamble.SessionID(1 + rng.IntN(9)), UCI: texts[rng.IntN(len(texts))], Ply: ply, At: at})
			}
		}
		runs, ok := MoveRuns(moves)
		if !ok {
			t.Fatalf("seed %d: moves in order are refused", seed)
		}
		i := 0
		for _, run := range runs {
			var rows [][3]any
			if err := json.Unmarshal([]byte(run.Moves), &rows); err != nil || len(rows) != run.Count || run.Count > maxRun {
				t.Fatalf("seed %d: got %d moves in a run of %d, %v", seed, len(rows), run.Count, err)
			}
			for n, row := range rows {
				at := run.Ended.Add(-time.Duration(row[2].(float64)) * time.Microsecond)
				got := intent.RecordMove{Board: run.Board, Session: wamble.SessionID(row[0].(float64)), UCI: row[1].(string), Ply: run.First + n, At: at}
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
