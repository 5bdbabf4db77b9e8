package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/wire"
)

// movesIn counts the moves in the frames of the journal since the last call.
func (r *rig) movesIn() (n int) {
	r.t.Helper()
	for _, f := range r.frames {
		intents, err := journal.Decode(f.frame)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, in := range intents {
			if in.Kind() == intent.KindRecordMove {
				n++
			}
		}
	}
	r.frames = nil
	return n
}

// holding returns the board that a player holds.
func (r *rig) holding(token wamble.Token) wamble.BoardID {
	r.t.Helper()
	b := r.p.boards.Held(r.p.sessions.Find(token).ID())
	if b == nil {
		r.t.Fatal("the player holds no board")
	}
	return b.ID()
}

// foolsMate is the shortest game.
var foolsMate = [...]string{"f2f3", "e7e5", "g2g4", "d8h4"}

// TestLongOutage: one player ends a game each second. The store goes away for half an hour,
// every move is made and answered by the next board, and the leases last for hours to come.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "(def min-boards 1) (def max-boards 1) (def rate-limit-requests-per-sec 0)")
	r.options.LeaseSize = 64
	r.p = New(r.options)
	r.boot()
	token, id := r.join(1)
	seq, made, answered := uint32(1), 0, 0
	play := func(d time.Duration) {
		t.Helper()
		for end := r.now.Add(d); r.now.Before(end); {
			for _, uci := range foolsMate {
				r.now = r.now.Add(time.Second / 4)
				seq++
				got := r.send(peerAt(1), movePacket(token, id, seq, uci))
				if made++; strings.Contains(got, "BOARD_UPDATE") {
					answered++
				} else if answered == made-1 {
					t.Errorf("move %d, %v after the start: %s", made, r.now.Sub(epoch), got)
				}
				id = r.holding(token)
			}
		}
	}
	play(time.Minute)
	r.away = true
	play(30 * time.Minute)
	if stored := r.movesIn(); stored != made || answered != made || made != 4*(60+1800) {
		t.Errorf("of %d moves %d are stored, %d answered by a board", made, stored, answered)
	}
	if left := r.p.leases.Remaining(wamble.BoardIDs); left < 2*3600 {
		t.Errorf("%d numbers of boards are left after half an hour, want enough for two hours", left)
	}
}

// TestNoNumberLeft: without a number for another board a move that would end the game is
// refused, and not made. All other moves are, and that one as soon as numbers are leased.
func TestNoNumberLeft(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.join(1)
	r.away = true
	drain(r, wamble.BoardIDs)
	r.movesIn()
	for i, uci := range foolsMate[:3] {
		if got := r.send(peerAt(1), movePacket(token, id, uint32(2+i), uci)); !strings.Contains(got, "BOARD_UPDATE") {
			t.Fatalf("%s is answered by %s", uci, got)
		}
	}
	mate := func(seq uint32) string {
		return r.send(peerAt(1), movePacket(token, id, seq, foolsMate[3]))
	}
	expect(t, mate(5), "ACK 5", `ERROR 1006 "no number is left for a new board"`)
	if n := r.movesIn(); n != 3 || r.holding(token) != id {
		t.Errorf("%d moves are stored, want 3", n)
	}
	r.step(&Leased{Sequence: wamble.BoardIDs, Blocks: r.store.lease(Lease{wamble.BoardIDs, 10})})
	if got := mate(6); !strings.Contains(got, "BOARD_UPDATE") || r.movesIn() != 1 || r.holding(token) == id {
		t.Errorf("with numbers the mate is answered by %s", got)
	}
}

// TestWaitForNumbers: a player who comes while no number for a new board is left, and accepts
// to wait, is shown their board when numbers come.
func TestWaitForNumbers(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 9)")
	r.join(1)
	r.away = true
	drain(r, wamble.BoardIDs)
	content := wire.Int(wire.KeyHelloWithoutBoard, 1)
	if got := r.greet(2, 1, content); !strings.Contains(got, "SERVER_HELLO") ||
		!strings.Contains(got, wire.KeyWaitPlace) {
		t.Errorf("with a cookie the hello is answered by %s", got)
	}
	waiting := []wamble.Token{r.wished(peerAt(3), content), r.wished(peerAt(4), content)}
	r.step(&Leased{Sequence: wamble.BoardIDs, Blocks: r.store.lease(Lease{wamble.BoardIDs, 10})})
	r.wait(time.Second)
	if got := r.took(); r.holding(waiting[0]) == r.holding(waiting[1]) || !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("with numbers they are shown %s", got)
	}
}

// TestMoveWithoutReplacement: if no other board is free, a move is answered by its own board,
// and the player is told that it is not theirs.
func TestMoveWithoutReplacement(t *testing.T) {
	t.Run("the pool shrinks", func(t *testing.T) {
		r := newRig(t, "(def min-boards 2) (def max-boards 2)")
		token, id := r.join(1)
		r.join(2)
		r.step(&Configure{Config: configOf(t, "(def min-boards 1) (def max-boards 1) (def max-moves-per-board 1)")})
		got := r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
		if !strings.HasPrefix(got, "ACK 2\nBOARD_UPDATE") || !strings.Contains(got, "SERVER_NOTIFICATION 5") ||
			strings.Contains(got, "ERROR") {
			t.Errorf("got %s", got)
		}
		if n := r.movesIn(); n != 1 {
			t.Errorf("%d moves are stored, want 1", n)
		}
	})
	t.Run("a repeated move", func(t *testing.T) {
		r := newRig(t, "(def min-boards 2) (def max-boards 2) (def max-moves-per-board 1)")
		token, id := r.join(1)
		r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
		r.p.boards.Release(r.now, r.p.sessions.Find(token).ID(), &r.p.frame)
		r.join(2)
		r.join(3)
		got := r.send(peerAt(1), movePacket(token, id, 3, "e2e4"))
		if !strings.HasPrefix(got, "ACK 3\nBOARD_UPDATE") || !strings.Contains(got, "SERVER_NOTIFICATION 5") ||
			strings.Contains(got, "ERROR") {
			t.Errorf("got %s", got)
		}
	})
}
