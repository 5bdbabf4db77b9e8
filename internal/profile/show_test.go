package profile

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/wire"
)

// A player is told with every move whether their board is one of Chess960. (In a hello the
// bit means something else as well.)
func TestShowsChess960(t *testing.T) {
	for interval, want := range map[int]wire.Flags{0: wire.FlagBoardIs960, -1: 0} {
		r := newRig(t, fmt.Sprintf("(def min-boards 2) (def chess960-interval %d)", interval))
		token, id := r.join(1)
		b := r.p.boards.Board(id)
		move := b.Position().LegalMoves(nil)[0].String()
		update, _ := wire.Peek(r.reply(peerAt(1), movePacket(token, b.ID(), 2, move)))
		if got := update.Flags & wire.FlagBoardIs960; update.Ctrl != wire.CtrlBoardUpdate || got != want {
			t.Errorf("interval %d: %v has flags %x, want %x of them", interval, update.Ctrl, update.Flags, want)
		}
	}
}

// The last move is not shown when its target square is empty: castling in Chess960 is written
// as king takes rook.
func TestLastMove(t *testing.T) {
	for uci, want := range map[string]bool{"e1a1": false, "e1e2": true} {
		pool := board.New(board.Options{MaxMoves: 1000}, func() (wamble.BoardID, bool) { return 0, false },
			rand.New(rand.NewPCG(1, 2)))
		err := pool.Restore(epoch, &wamble.Board{
			ID: 1, FEN: "4k3/8/8/8/8/8/8/R3K3 w A - 0 1", Status: wamble.Reserved, Variant: 518, Created: epoch,
			Holder: &wamble.Reservation{Session: 7, At: epoch, Expires: epoch.Add(time.Hour)},
		}, deaf{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Play(epoch, 1, board.Mover{Session: 7, Rating: -1}, uci, deaf{}); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := lastMove(pool.Board(1)); ok != want {
			t.Errorf("%s: shown %v, want %v", uci, ok, want)
		}
	}
}

// deaf drops all intents.
type deaf struct{}

func (deaf) Add(intent.Intent) {}
