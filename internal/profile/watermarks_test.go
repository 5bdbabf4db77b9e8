package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestDurableIndexHolds: while the journal does not sync no packet leaves, also for requests
// that change nothing; when it syncs they leave, ACKs first.
func TestDurableIndexHolds(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	token, id := r.join(1)
	other, otherID := r.join(2)
	r.stuck = true
	expect(t, r.send(peerAt(1), movePacket(token, id, 2, "e2e4")), "")
	// Later answers may show the move.
	expect(t, r.send(peerAt(2), legalPacket(other, otherID, 2, 12)), "")
	expect(t, r.send(peerAt(2), movePacket(other, otherID, 3, "e2e5")), "")
	expect(t, r.greet(3, 1), "")
	// Duplicates of what is in flight are dropped.
	expect(t, r.send(peerAt(1), movePacket(token, id, 2, "e2e4")), "")
	r.wait(5 * time.Second)
	if got := r.took(); strings.Contains(got, "BOARD") || strings.Contains(got, "ACK") {
		t.Errorf("sent without the journal: %s", got)
	}
	if r.p.Gauges().Held != 4 || len(r.indexes) != 2 {
		t.Fatalf("got %d held behind %d indexes, want 4 behind 2", r.p.Gauges().Held, len(r.indexes))
	}
	first := r.indexes[0]
	r.indexes = r.indexes[1:]
	r.step(&Durable{Index: first.index, Seq: first.seq})
	got := strings.Split(r.took(), "\n")
	if len(got) != 6 || got[0] != "ACK 2" || got[1] != "ACK 3" || got[2] != "ACK 2" ||
		!strings.HasPrefix(got[3], "BOARD_UPDATE") {
		t.Errorf("got %q, want both ACKs of the second player, then ACK and answer of the first, then the other answers", got)
	}
	r.stuck = false
	r.settle()
	if got := r.took(); !strings.HasPrefix(got, "ACK 1\nSERVER_HELLO") {
		t.Errorf("got %q, want the hello", got)
	}
}

// TestDurableIndexReached: the answer to a request that changes nothing, when all is durable,
// leaves in its step.
func TestDurableIndexReached(t *testing.T) {
	r := newRig(t, "")
	token, id := r.join(1)
	r.sync()
	r.step(&Packet{Peer: peerAt(1), Data: legalPacket(token, id, 2, 12)})
	if got := r.took(); !strings.HasPrefix(got, "ACK 2\nLEGAL_MOVES") || r.out.DurableIndex != 0 ||
		r.out.Frames.Len() != 0 {
		t.Errorf("got %q, index %d, %d frames", got, r.out.DurableIndex, r.out.Frames.Len())
	}
}

// TestDone: a repetition of a finished request is acknowledged, and answered the same while
// the answer is kept.
func TestDone(t *testing.T) {
	r := newRig(t, "")
	token, id := r.join(1)
	move := movePacket(token, id, 2, "e2e4")
	first := r.send(peerAt(1), move)
	expect(t, r.send(peerAt(1), move), "ACK 2") // the answer is still on its way
	r.send(peerAt(1), ackPacket(token, r.last))
	if again := r.send(peerAt(1), move); again != first {
		t.Errorf("got %q, want %q", again, first)
	}
	r.wait(3 * time.Second)
	r.took()
	expect(t, r.send(peerAt(1), move), "ACK 2")
	if n := r.p.Stats().Moves; n != 1 {
		t.Errorf("the move was played %d times", n)
	}
}

// TestRepeatedMove: the same move under a new number is a success, and shows the
// present board; another move on that board is refused.
func TestRepeatedMove(t *testing.T) {
	r := newRig(t, "")
	token, id := r.join(1)
	first := r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	next := r.p.boards.Held(r.p.sessions.Find(token).ID()).ID()
	again := r.send(peerAt(1), movePacket(token, id, 3, "e2e4"))
	if strings.TrimPrefix(again, "ACK 3") != strings.TrimPrefix(first, "ACK 2") || next == id {
		t.Errorf("got %q, want what %q said", again, first)
	}
	expect(t, r.send(peerAt(1), movePacket(token, id, 4, "d2d4")), "ACK 4", `ERROR 1009 "move rejected (status=2)"`)
	if s := r.p.Stats(); s.Moves != 1 || s.Repeats != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestRepeatedAfterCrash: the move is in the journal, its answer was never sent, and the
// process crashes.
func TestRepeatedAfterCrash(t *testing.T) {
	for _, tc := range []struct{ name, conf string }{
		{"game goes on", "(def min-boards 2)"},
		{"move ended the game", "(def min-boards 2) (def max-moves-per-board 1)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.conf)
			token, id := r.join(1)
			r.stuck = true
			expect(t, r.send(peerAt(1), movePacket(token, id, 2, "e2e4")), "")
			r.stuck = false
			r.restart()
			// The player is known, with the board they were given.
			got := r.send(peerAt(1), helloPacket(token, 2))
			held := r.p.boards.Held(r.store.byToken(token).ID)
			if held == nil || held.ID() == id || !strings.Contains(got, "SERVER_HELLO") {
				t.Fatalf("got %s, holds %v", got, held)
			}
			r.send(peerAt(1), ackPacket(token, 1))
			got = r.send(peerAt(1), movePacket(token, id, 3, "e2e4"))
			if len(r.loads) > 0 { // a finished game is only in the store
				expect(t, got, "")
				r.answerLoads()
				got = r.took()
			}
			if !strings.HasPrefix(got, "ACK 3\nBOARD_UPDATE") ||
				!strings.Contains(got, "board "+itoa(uint32(held.ID()))) {
				t.Errorf("got %s, want board %d", got, held.ID())
			}
			r.apply()
			if n := len(r.store.boards[id].Moves); n != 1 {
				t.Errorf("the store has %d moves, want 1", n)
			}
		})
	}
}

// TestJournalFails: nothing is decided any more, no waiting packet leaves, and a request
// leaves no trace.
func TestJournalFails(t *testing.T) {
	r := newRig(t, "")
	token, id := r.join(1)
	cold := wamble.Token{5}
	expect(t, r.send(peerAt(2), helloPacket(cold, 1)), "")
	r.stuck = true
	expect(t, r.send(peerAt(1), movePacket(token, id, 2, "e2e4")), "")
	const refusal = `ERROR 1006 "the server cannot keep moves at present" unreliable`
	r.step(&Packet{Peer: peerAt(1), Data: legalPacket(token, id, 3, 12)}, &JournalFailed{})
	expect(t, r.took(), refusal) // to the hello that waits for a load
	expect(t, r.send(peerAt(1), movePacket(token, id, 4, "d2d4")), refusal)
	expect(t, r.send(peerAt(1), movePacket(token, id, 4, "d2d4")), refusal)
	r.step(r.store.answer(r.loads[0]))
	r.wait(10 * time.Minute)
	expect(t, r.took(), "")
	if !r.p.Gauges().Failed || r.out.Frames.Len() != 0 || r.out.DurableIndex != 0 {
		t.Errorf("got %+v with %d frames", r.p.Gauges(), r.out.Frames.Len())
	}
}

func TestNotReady(t *testing.T) {
	p := New(Options{Config: configOf(t, ""), Now: epoch})
	var out Output
	p.Step(epoch, []Input{&Packet{Peer: peerAt(1), Data: helloPacket(wamble.Token{}, 1)}}, &out)
	if out.Packets.Len() != 1 || out.Frames.Len() != 0 {
		t.Fatalf("got %d packets, %d frames", out.Packets.Len(), out.Frames.Len())
	}
	_, b := out.Packets.At(0)
	expect(t, inWords(t, b), `ERROR 1006 "the server is starting" unreliable`)
	if len(b) > 3*wire.HeaderSize {
		t.Errorf("the refusal has %d bytes: more than threefold", len(b))
	}
}

// TestWatermarks: the pairs of durable index and message are thinned when there are too many,
// and never settle early.
func TestWatermarks(t *testing.T) {
	var g watermarks
	const n = 3*maxPending + 17
	g.newest = n
	for i := uint64(1); i <= n; i++ {
		g.setDurable(i, 2*i)
	}
	if len(g.pending) > maxPending {
		t.Errorf("%d are kept", len(g.pending))
	}
	for _, seq := range []uint64{1, 2, 3, 1000, 2*n - 1, 2 * n, 5 * n} {
		g.setApplied(seq)
		if g.stored > seq/2 {
			t.Errorf("at message %d index %d is settled", seq, g.stored)
		}
	}
	if g.stored != n {
		t.Errorf("got index %d in the end, want %d", g.stored, n)
	}
	// The store may be ahead of the journal position that the profile has.
	g.newest = n + 1
	g.setDurable(n+1, 4*n)
	if g.stored != n+1 {
		t.Errorf("got index %d, want %d", g.stored, n+1)
	}
	g.setDurable(n+2, 4*n+1)
	if g.durable != n+1 {
		t.Error("a index that was never made is durable")
	}
}

// TestRepeatedElsewhere: for a game of another profile this one does not confirm that a move
// was played: the store may be behind that profile's memory.
func TestRepeatedElsewhere(t *testing.T) {
	r := newRig(t, "(def min-boards 2) (def max-moves-per-board 1)")
	token, id := r.join(1)
	r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	r.restart()
	r.store.boards[id].Profile = "another"
	r.send(peerAt(1), helloPacket(token, 2))
	r.send(peerAt(1), ackPacket(token, 1))
	r.send(peerAt(1), movePacket(token, id, 3, "e2e4"))
	r.answerLoads()
	if got := r.took(); !strings.Contains(got, `ERROR 1008 "unknown board"`) {
		t.Errorf("got %s", got)
	}
}
