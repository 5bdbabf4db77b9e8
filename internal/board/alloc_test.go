package board

import "testing"

// A move and the next board allocate nothing, but for the lists of a board that
// grow now and then, and the text of many positions.
func TestAllocations(t *testing.T) {
	tb := newTable(t, 1000, 100)
	for range 1000 {
		tb.move(t)
	}
	if got := testing.AllocsPerRun(2000, func() { tb.move(t) }); got > 0 {
		t.Errorf("%v allocations a move, want less than 1", got)
	}
}

// Queries allocate nothing.
func TestAllocationsOfQueries(t *testing.T) {
	tb := newTable(t, 100, 10)
	id := tb.held[0]
	got := testing.AllocsPerRun(1000, func() {
		tb.Assign(tb.now, Player{Session: 1}, silence{})
		tb.Repeats(id, 2, "e2e4")
		tb.FEN(tb.Board(id))
		tb.NoteActivity(tb.now, 1, Datagram)
		tb.Play(tb.now, id, Mover{Session: 2, Rating: -1}, "e2e4", silence{})
		tb.Play(tb.now, id, Mover{Session: 1, Rating: -1}, "e2e5", silence{})
		tb.Due(tb.now, nil, silence{})
		tb.Next()
	})
	if got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
