package board

import (
	"math/rand/v2"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
)

// table is a pool with players who all hold a board.
type table struct {
	*Pool
	now  time.Time
	next int
	held []wamble.BoardID // by session, less one
	uci  []byte
	buf  [chess.MaxMoves]chess.Move
	rng  *rand.Rand
}

func newTable(t testing.TB, boards, sessions int) *table {
	t.Helper()
	o := defaultOptions()
	o.MinBoards, o.MaxBoards, o.MaxMoves = boards, boards, 0
	tb := &table{Pool: New(o, counter(1<<40), newRand(1)), now: epoch, held: make([]wamble.BoardID, sessions),
		rng: newRand(2)}
	grow(t, tb.Pool, boards, silence{})
	for i := range tb.held {
		a, err := tb.Assign(tb.now, Player{Session: wamble.SessionID(i + 1)}, silence{})
		if err != nil {
			t.Fatal(err)
		}
		tb.held[i] = a.Board.ID()
	}
	return tb
}

// move lets the next player move and switches them to another board.
func (tb *table) move(t testing.TB) {
	tb.next++
	i := tb.next * 7919 % len(tb.held)
	s, id := wamble.SessionID(i+1), tb.held[i]
	moves := tb.Board(id).Position().LegalMoves(tb.buf[:0])
	tb.uci = moves[tb.rng.IntN(len(moves))].AppendUCI(tb.uci[:0])
	tb.now = tb.now.Add(time.Millisecond)
	if _, err := tb.Play(tb.now, id, Mover{Session: s, Rating: -1}, string(tb.uci), silence{}); err != nil {
		t.Fatal(err)
	}
	a, err := tb.Assign(tb.now, Player{Session: s, Games: i % 20, LeftBoard: id}, silence{})
	if err != nil {
		t.Fatal(err)
	}
	tb.held[i] = a.Board.ID()
}
