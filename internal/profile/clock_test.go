package profile

import (
	"bytes"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/wire"
)

// TestClockSetBackHolders: the store keeps the later of two holders of a board. A player who
// is given a board after the wall clock was set back has it all the same, in memory, in the
// store and after the next start, and so has the next holder.
func TestClockSetBackHolders(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	first, board := r.join(1)
	held := func(token wamble.Token, when string) {
		t.Helper()
		r.apply()
		want := r.p.sessions.Find(token).ID()
		stored := r.store.boards[board].Holder
		if got := r.p.boards.Board(board).Holder(); got != want || stored == nil || stored.Session != want {
			t.Fatalf("%s: the board is held by %d and stored with %+v, want %d", when, got, stored, want)
		}
	}
	leave := func(n int, token wamble.Token) {
		t.Helper()
		r.wait(time.Second)
		r.send(peerAt(n), encode(wire.Header{Token: token, Seq: 9}, wire.ClientGoodbye{}))
		r.apply()
		if b := r.p.boards.Board(board); b.Holder() != 0 || r.store.boards[board].Holder != nil {
			t.Fatalf("the board is held by %d and stored with %+v, want nobody", b.Holder(),
				r.store.boards[board].Holder)
		}
	}
	r.step(&WallClock{Ahead: -time.Hour})
	leave(1, first)
	second, _ := r.join(2)
	held(second, "after the clock was set")

	r.now = r.now.Add(-time.Hour)
	r.restart()
	held(second, "after a start")
	leave(2, second)
	third, _ := r.join(3)
	held(third, "after a start, once more")
	r.restart()
	held(third, "after another start")
}

// TestClockSetBackRows: a row of which the store keeps the later one never has an earlier
// time than those before; other rows have the wall clock's time.
func TestClockSetBackRows(t *testing.T) {
	now := epoch.Add(time.Second)
	p := New(Options{Config: configOf(t, ""), Now: now})
	p.Step(now, []Input{&WallClock{Ahead: -time.Hour}}, new(Output))
	key := wamble.PublicKey{1}
	kept := []intent.Intent{
		&intent.CreateReservation{Board: 1, Session: 1, At: now, Expires: now.Add(time.Minute)},
		&intent.RemoveReservation{Board: 1, At: now},
		&intent.LinkSession{Session: 1, Key: key, Player: 1, Handle: "somebody", At: now},
		&intent.UnlinkSession{Session: 1, At: now},
		&intent.RenewToken{Session: 1, Token: wamble.TokenHash{1}, At: now},
		&intent.RevokeSessions{Session: 1, At: now},
		&intent.SetName{Key: key, Name: "somebody", At: now},
		&intent.ErasePlayer{Key: key, At: now},
		&intent.MergePlayers{From: key, Into: wamble.PublicKey{2}, At: now},
	}
	for _, in := range kept {
		frame := p.clock.write(journal.Begin(nil), in)
		if want := journal.Append(journal.Begin(nil), in); !bytes.Equal(frame, want) {
			t.Errorf("%v is written with another time than the newest", in.Kind())
		}
	}
	seen := &intent.UpdateSessionLastSeen{Session: 1, At: now}
	frame := p.clock.write(journal.Begin(nil), seen)
	seen.At = now.Add(-time.Hour)
	if want := journal.Append(journal.Begin(nil), seen); !bytes.Equal(frame, want) {
		t.Error("a row that is not kept by its time has another than the wall clock's")
	}
}
