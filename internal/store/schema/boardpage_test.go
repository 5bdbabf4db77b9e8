package schema

import (
	"testing"

	"wamble"
)

// TestRunOfAnotherBoard: moves of a board that is not in the page are dropped.
func TestRunOfAnotherBoard(t *testing.T) {
	run := func(board wamble.BoardID) Scan {
		return func(into ...any) error {
			*into[0].(*wamble.BoardID) = board
			*into[3].(*[]byte) = []byte(`[[1,"e2e4",0]]`)
			return nil
		}
	}
	p := boardPage{boards: []wamble.Board{{ID: 7}}, at: map[wamble.BoardID]int{7: 0},
		movers: map[wamble.SessionID]mover{}}
	if err := p.scanRun(run(7)); err != nil {
		t.Error(err)
	}
	if err := p.scanRun(run(8)); err != nil {
		t.Error(err)
	}
	if got := p.boards[0].Moves; len(got) != 1 || got[0].UCI != "e2e4" {
		t.Errorf("the board has %+v, want e2e4", got)
	}
}
