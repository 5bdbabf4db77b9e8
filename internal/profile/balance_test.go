package profile

import (
	"testing"

	"wamble"
	"wamble/chess"
)

// TestSupply: two boards are in play for each player present, between min-boards and
// max-boards; a new configuration counts at once.
func TestSupply(t *testing.T) {
	r := newRig(t, "(def min-boards 3) (def max-boards 9) (def boards-per-player 2)")
	inPlay := func(want int) {
		t.Helper()
		if got := r.p.boards.Len() - r.p.boards.Asleep(); got != want {
			t.Errorf("%d boards in play, want %d", got, want)
		}
	}
	inPlay(3)
	for i := range 3 {
		r.join(i + 1)
	}
	inPlay(6)
	r.join(4)
	inPlay(8)
	r.join(5)
	inPlay(9) // never more
	r.step(&Configure{Config: configOf(t, "(def min-boards 9) (def max-boards 20) (def boards-per-player 3)")})
	r.settle()
	inPlay(15)
	r.step(&Configure{Config: configOf(t, "(def min-boards 3) (def boards-per-player 1)")})
	r.settle()
	inPlay(7) // two more than wanted
}

// TestFreezeBoards: while a handoff writes the boards to the state file, boards are added
// only for players who need one, which does not make work for the profile; afterwards it adds
// the others.
func TestFreezeBoards(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	r.step(&FreezeBoards{On: true}, &Configure{Config: configOf(t, "(def min-boards 1000)")})
	r.settle()
	if got := r.p.boards.Len(); got != 3 || !r.out.Next.IsZero() && !r.out.Next.After(r.now) {
		t.Errorf("3 boards became %d, the next step is due at %v, now is %v", got, r.out.Next, r.now)
	}
	for i := range 5 {
		if _, board := r.join(i + 1); board == 0 {
			t.Errorf("player %d gets no board", i+1)
		}
	}
	if got := r.p.boards.Len(); got < 5 || got > 100 {
		t.Errorf("%d boards for 5 players", got)
	}
	r.step(&FreezeBoards{})
	r.settle()
	if got := r.p.boards.Len(); got != 1000 {
		t.Errorf("%d boards afterwards, want 1000", got)
	}
}

// TestSupplyOfARestoredWorld: the boards of a store stay dormant until a player needs them,
// and a step without players has nothing to do.
func TestSupplyOfARestoredWorld(t *testing.T) {
	const boards = 5000
	c := emptyCrowd(t, "(def max-boards 10000) (def min-boards 300)")
	for i := range boards {
		c.step(&RestoreBoard{Board: wamble.Board{ID: wamble.BoardID(i + 1), FEN: chess.StartFEN, Status: wamble.Dormant,
			Variant: -1, Created: epoch}})
	}
	c.step(&Ready{})
	for range 10 {
		c.step(&Tick{})
	}
	if got := c.p.boards.Asleep(); got != boards-300 || c.p.boards.Len() != boards {
		t.Errorf("%d of %d boards sleep", got, c.p.boards.Len())
	}
}
