package board

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// storedGame is a board as the store has it after the given moves.
func storedGame(t testing.TB, id wamble.BoardID, variant int16, status wamble.BoardStatus, moves string) *wamble.Board {
	t.Helper()
	b := &wamble.Board{ID: id, Status: status, Variant: variant, Version: 9, Created: epoch.Add(-time.Hour)}
	p := startOf(variant)
	for i, uci := range strings.Fields(moves) {
		m, err := p.ParseUCI(uci)
		if err != nil {
			t.Fatal(err)
		}
		p = p.Play(m)
		b.Moves = append(b.Moves, wamble.Move{Ply: i + 1, UCI: uci, Session: wamble.SessionID(i + 1),
			At: epoch.Add(time.Duration(i-60) * time.Second)})
	}
	b.FEN = p.FEN()
	return b
}

func reservation(s wamble.SessionID, key byte, expires time.Duration) *wamble.Reservation {
	return &wamble.Reservation{Session: s, Key: wamble.PublicKey{key}, At: epoch.Add(-time.Minute),
		Expires: epoch.Add(expires)}
}

func TestRestore(t *testing.T) {
	for _, tc := range []struct {
		name     string
		status   wamble.BoardStatus
		holder   *wamble.Reservation
		moves    string
		want     wamble.BoardStatus
		wantHeld wamble.SessionID
		said     []string
	}{
		{"held", wamble.Reserved, reservation(7, 0, time.Hour), "e2e4", wamble.Reserved, 7, nil},
		{"held, without moves", wamble.Reserved, reservation(7, 0, time.Hour), "", wamble.Reserved, 7, nil},
		{"held by an identity", wamble.Reserved, reservation(7, 1, time.Hour), "e2e4", wamble.Reserved, 7, nil},
		{"expired", wamble.Reserved, reservation(7, 0, 0), "e2e4", wamble.Dormant, 0, []string{"update 3 DORMANT v10", "unreserve 3"}},
		{"reserved for nobody", wamble.Reserved, nil, "e2e4", wamble.Dormant, 0, []string{"update 3 DORMANT v10", "unreserve 3"}},
		{"holder has another", wamble.Reserved, reservation(1, 0, time.Hour), "e2e4", wamble.Dormant, 0, []string{"update 3 DORMANT v10", "unreserve 3"}},
		{"active", wamble.Active, nil, "e2e4 e7e5", wamble.Active, 0, nil},
		{"active without a move", wamble.Active, nil, "", wamble.Dormant, 0, []string{"update 3 DORMANT v10"}},
		{"active with an old reservation", wamble.Active, reservation(7, 0, time.Hour), "e2e4", wamble.Active, 0, []string{"unreserve 3"}},
		{"dormant", wamble.Dormant, nil, "e2e4 e7e5", wamble.Dormant, 0, nil},
		{"new", wamble.Dormant, nil, "", wamble.Dormant, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.restore(1, chess.StartFEN)
			stored := storedGame(t, 3, -1, tc.status, tc.moves)
			stored.Holder = tc.holder
			if err := r.Restore(r.now, stored, &r.said); err != nil {
				t.Fatal(err)
			}
			r.expect(tc.said...)
			b := r.Board(3)
			if b.Status() != tc.want || b.Holder() != tc.wantHeld || b.FEN() != stored.FEN {
				t.Errorf("%s held by %d, %s", b.Status(), b.Holder(), b.FEN())
			}
			if got, want := len(b.plies), len(stored.Moves); got != want {
				t.Errorf("%d moves, want %d", got, want)
			}
			if tc.wantHeld != 0 && (!b.Reserved().Equal(tc.holder.At) ||
				b.identity != (tc.holder.Key != wamble.PublicKey{})) {
				t.Errorf("reserved at %s, identity %v", b.Reserved(), b.identity)
			}
		})
	}
}

func TestRestoredBoardIsPlayedOn(t *testing.T) {
	r := newRig(t, nil)
	stored := storedGame(t, 3, 0, wamble.Reserved, "e2e4 e7e5")
	stored.Holder = reservation(1, 0, time.Hour)
	if err := r.Restore(r.now, stored, &r.said); err != nil {
		t.Fatal(err)
	}
	if got := r.assign(1).ID(); got != 3 {
		t.Errorf("the holder gets board %d", got)
	}
	if !r.Repeats(3, 2, "e7e5") {
		t.Error("the last move is not known")
	}
	r.play(3, 1, "d2d4")
	r.expect("move 3 by 1 d2d4 ply 3", "update 3 ACTIVE v10", "unreserve 3")
}

// The players who repeated the position before the restart are restored.
func TestRestoredHistory(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	stored := storedGame(t, 3, -1, wamble.Active, strings.Repeat("g1f3 g8f6 f3g1 f6g8 ", 3)+"g1f3 g8f6 f3g1")
	if err := r.Restore(r.now, stored, &r.said); err != nil {
		t.Fatal(err)
	}
	r.assign(1)
	if done := r.play(3, 1, "f6g8"); done.Finished == nil || done.Finished.Reason != "fivefold repetition" {
		t.Errorf("got %+v", done.Finished)
	}
}

// TestClockSetBack ends a game that was made an hour from now, by the clock of an earlier
// process.
func TestClockSetBack(t *testing.T) {
	r := newRig(t, nil)
	stored := storedGame(t, 3, -1, wamble.Reserved, "f2f3 e7e5 g2g4")
	stored.Created, stored.Holder = epoch.Add(time.Hour), reservation(1, 0, 2*time.Hour)
	if err := r.Restore(r.now, stored, &r.said); err != nil {
		t.Fatal(err)
	}
	done := r.play(3, 1, "d8h4")
	if done.Finished == nil || done.Finished.Duration != 0 {
		t.Fatalf("got %+v, want the end of the game after 0 s", done.Finished)
	}
	if err := intent.Check(&r.intents.result); err != nil {
		t.Error(err)
	}
}

func TestRestoredActiveBecomesDormant(t *testing.T) {
	r := newRig(t, nil)
	if err := r.Restore(r.now, storedGame(t, 3, -1, wamble.Active, "e2e4 e7e5"), &r.said); err != nil {
		t.Fatal(err)
	}
	at, ok := r.Next()
	if want := epoch.Add(-59*time.Second + 5*time.Minute); !ok || !at.Equal(want) {
		t.Errorf("next at %s, %v; want %s", at, ok, want)
	}
	r.Due(at, nil, &r.said)
	r.expect("update 3 DORMANT v10")
}

func TestRestoreRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*wamble.Board)
		want   string
	}{
		{"no number", func(b *wamble.Board) { b.ID = 0 }, "no number"},
		{"archived", func(b *wamble.Board) { b.Status = wamble.Archived }, "archived"},
		{"bad FEN", func(b *wamble.Board) { b.FEN = "8/8/8" }, "FEN"},
		{"no variant", func(b *wamble.Board) { b.Variant = 960 }, "variant"},
		{"illegal move", func(b *wamble.Board) { b.Moves[1].UCI = "e7e4" }, "move 2: illegal"},
		{"malformed move", func(b *wamble.Board) { b.Moves[1].UCI = "e7" }, "move 2: "},
		{"wrong number of a move", func(b *wamble.Board) { b.Moves[1].Ply = 1 }, "move 2 is numbered 1"},
		{"a move by nobody", func(b *wamble.Board) { b.Moves[0].Session = 0 }, "move 1 is by nobody"},
		{"a move too many", func(b *wamble.Board) { b.FEN = chess.StartFEN }, "not to its FEN"},
		{"another variant", func(b *wamble.Board) { b.Variant = 5 }, ""},
		{"too many moves", func(b *wamble.Board) { b.Moves = make([]wamble.Move, maxPlies+1) }, "too many"},
		{"twice", func(b *wamble.Board) { b.ID = 1 }, "already"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.restore(1, chess.StartFEN)
			stored := storedGame(t, 3, -1, wamble.Active, "e2e4 e7e5")
			tc.change(stored)
			err := r.Restore(r.now, stored, &r.said)
			var damaged *Damaged
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if r.Len() != 1 {
				t.Error("it is in the pool")
			}
			r.expect()
		})
	}
}

// TestRestoredOver: games that are over when they are restored are ended, with everything
// that belongs to an end.
func TestRestoredOver(t *testing.T) {
	for _, tc := range []struct {
		name, moves, fen, reason string
		change                   func(*Options)
	}{
		{"a lower limit", "e2e4 e7e5", "", "move limit", func(o *Options) { o.MaxMoves = 2 }},
		{"a dead draw", "", "8/8/8/8/8/8/8/K1k5 w - - 0 1", "insufficient material", nil},
		{"a mate", "f2f3 e7e5 g2g4 d8h4", "", "checkmate", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.change)
			stored := storedGame(t, 3, -1, wamble.Reserved, tc.moves)
			stored.Holder = reservation(7, 0, time.Hour)
			if tc.fen != "" {
				stored.FEN = tc.fen
			}
			if err := r.Restore(r.now, stored, &r.said); err != nil {
				t.Fatal(err)
			}
			r.expect()
			if b := r.Over(); b == nil || b.ID() != 3 || r.Len() != 0 || r.Held(7) != nil {
				t.Fatalf("over is %v, the pool has %d boards", b, r.Len())
			}
			f := r.EndOver(r.now, &r.said)
			if f.Reason != tc.reason || f.Board.Status() != wamble.Archived || r.Over() != nil || r.Len() != 0 {
				t.Errorf("got %+v", f)
			}
			r.expect("update 3 ARCHIVED v10", "unreserve 3",
				fmt.Sprintf("result 3 %s %s plies %d after 1h0m0s", f.Result, tc.reason, f.Plies))
		})
	}
}

// Without its moves a board is played on from its FEN.
func TestRestoreFromFENAlone(t *testing.T) {
	r := newRig(t, nil)
	stored := storedGame(t, 3, -1, wamble.Active, "e2e4 e7e5 g1f3")
	stored.Moves = nil
	if err := r.Restore(r.now, stored, &r.said); err != nil {
		t.Fatal(err)
	}
	r.assign(1)
	r.said.take()
	r.play(3, 1, "b8c6")
	r.expect("move 3 by 1 b8c6 ply 4 first", "update 3 ACTIVE v12", "unreserve 3")
	if m, ok := r.Board(3).LastMove(); !ok || m.Ply != 4 {
		t.Errorf("last move %+v, %v", m, ok)
	}
}
