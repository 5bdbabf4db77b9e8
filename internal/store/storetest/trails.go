package storetest

import (
	"cmp"
	"fmt"
	"slices"

	"wamble"
	"wamble/internal/intent"
)

// trails reads the boards of a session and of all sessions of its player, the newest of each,
// with their payouts. An intent applied twice counts once.
func trails(w *world) {
	w.apply(newSession(1), newSession(2), newSession(3))
	var boards, moves []intent.Intent
	for id := range wamble.BoardID(100) {
		boards = append(boards, newBoard(id+1))
		moves = append(moves, &intent.RecordMove{Board: id + 1, Session: 1, UCI: "e2e4", Ply: 1, First: true,
			At: at(100 + int(id))})
	}
	w.apply(boards...)
	w.trail("nothing yet", 1, "[1] []")
	w.apply(moves[2])
	w.apply(moves[2])
	w.trail("one board", 1, "[1] [3]")
	w.apply(slices.Delete(moves, 2, 3)...)
	w.apply(move(2, 2, 2, true), move(7, 1, 2, false), move(7, 3, 3, true), pay(99, 1), pay(99, 2), pay(98, 2),
		pay(97, 3))
	w.trail("a guest", 1, "[1] "+upTo(100, 64))
	got := w.trail("another one", 3, "[3] [7]")
	if len(got.Boards) == 1 {
		w.equal("its board", got.Boards[0], w.board(7))
	}
	w.equal("when they were elsewhere", got.Seen.IsZero(), true)
	w.trail("nobody", 9, "[] []")

	w.apply(link(1, 7, 20), link(2, 7, 20), &intent.UpdateSessionLastSeen{Session: 1, At: at(900)})
	got = w.trail("a player", 2, "[1 2] "+upTo(100, 63, 2))
	w.equal("when they were elsewhere", got.Seen, at(900))
	w.equal("points", got.Paid, []wamble.Score{{Board: 98, Points: 1}, {Board: 99, Points: 2}})
	got = w.trail("the same player", 1, "[1 2] "+upTo(100, 63, 2))
	w.equal("when they were elsewhere", got.Seen, at(2))
	w.trail("another player", 3, "[3] [7]")

	w.apply(&intent.PurgeSessions{Before: at(1000), At: at(1000)})
	w.trail("after a purge", 3, "[3] []")
	w.apply(&intent.ErasePlayer{Key: key(7), At: at(1000)})
	w.trail("after an erasure", 1, "[1] []")
}

// upTo returns the boards of a trail: some, then n up to a number.
func upTo(last, n int, more ...wamble.BoardID) string {
	for id := last - n + 1; id <= last; id++ {
		more = append(more, wamble.BoardID(id))
	}
	return fmt.Sprint(more)
}

// trail reads a trail, and compares its sessions and boards.
func (w *world) trail(what string, id wamble.SessionID, want string) wamble.Trail {
	w.Helper()
	got, err := w.Trail(w.Context(), id)
	w.must(err)
	slices.Sort(got.Sessions)
	slices.SortFunc(got.Boards, func(a, b wamble.Board) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(got.Paid, func(a, b wamble.Score) int { return cmp.Compare(a.Board, b.Board) })
	if got.Sessions == nil {
		got.Sessions = []wamble.SessionID{}
	}
	w.equal(what, fmt.Sprint(got.Sessions)+" "+ids(got.Boards), want)
	return got
}
