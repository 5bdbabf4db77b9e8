package schema

import (
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"wamble"
)

// TestMadeBy: the search finds what a walk finds, and asks rarely.
func TestMadeBy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		boards := make([]Made, 1+rng.IntN(30))
		id, at := wamble.BoardID(0), time.Unix(0, 0)
		for i := range boards {
			id += 1 + wamble.BoardID(rng.IntN(1<<14))
			at = at.Add(time.Duration(rng.IntN(3)) * time.Second) // some are made together
			boards[i] = Made{id, at}
		}
		until, want := time.Unix(int64(rng.IntN(40)-2), 0), wamble.BoardID(0)
		for _, b := range boards {
			if !b.Created.After(until) {
				want = b.Board
			}
		}
		asked := 0
		got, err := MadeBy(until, boards[0], boards[len(boards)-1], func(id wamble.BoardID) (Made, error) {
			asked++
			return boards[sort.Search(len(boards), func(i int) bool { return boards[i].Board >= id })], nil
		})
		if err != nil || got != want || asked > 20 {
			t.Fatalf("made by %v of %v: got %d after %d questions, %v, want %d", until, boards, got, asked, err, want)
		}
	}
}
