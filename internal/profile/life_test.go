package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/journal"
	"wamble/wire"
)

// TestReservationTimesOut: a player who is present is told, and gets another board; an absent
// one just loses theirs.
func TestReservationTimesOut(t *testing.T) {
	r := newRig(t, "(def min-boards 2) (def reservation-timeout 100)")
	token, id := r.join(1)
	r.wait(50 * time.Second)
	expect(t, r.send(peerAt(1), legalPacket(token, id, 2, 35)), "ACK 2", "LEGAL_MOVES 35 [] board "+itoa(uint32(id)))
	r.send(peerAt(1), ackPacket(token, r.last))
	r.wait(49 * time.Second)
	expect(t, r.took(), "")
	// The push waits for the journal like everything else.
	r.now = r.now.Add(time.Second)
	r.stuck = true
	r.step(&Tick{})
	r.settle()
	expect(t, r.took(), "")
	r.stuck = false
	r.settle()
	other := 3 - id
	expect(t, r.took(), "BOARD_UPDATE 08 "+start+" w board "+itoa(uint32(other))+" "+boardKeys,
		"SERVER_NOTIFICATION 5 board "+itoa(uint32(id)))
	// The link times out, and then the board goes back without a message.
	r.wait(400 * time.Second)
	r.took()
	if n := r.p.boards.Free(); n != 2 {
		t.Errorf("%d boards are free, want 2", n)
	}
}

// TestNoBoardAfterTimeout: if no other board is free the player is told so.
func TestNoBoardAfterTimeout(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1) (def reservation-timeout 100)")
	token, _ := r.join(1)
	r.wait(99 * time.Second)
	r.now = r.now.Add(time.Second)
	// Another player comes in the very step in which the board is free again; the former
	// holder gets it back, because they are still there.
	r.step(&Tick{})
	r.settle()
	if got := r.took(); !strings.Contains(got, "BOARD_UPDATE") || r.p.boards.Free() != 0 {
		t.Errorf("got %s", got)
	}
	if r.p.sessions.Find(token) == nil {
		t.Error("the player is gone")
	}
}

// TestTakenBack: the pool is full, and a holder who is silent for too long loses their board.
func TestTakenBack(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1) (def inactivity-timeout 60) (def session-timeout 300)")
	_, id := r.join(1)
	r.wait(61 * time.Second)
	r.step(&Packet{Peer: peerAt(2), Data: r.withCookie(peerAt(2), wamble.Token{}, 1)})
	r.settle()
	var toFirst, toSecond []string
	for _, s := range r.sent {
		if s.to == peerAt(1) {
			toFirst = append(toFirst, inWords(t, s.packet))
		} else {
			toSecond = append(toSecond, inWords(t, s.packet))
		}
	}
	expect(t, strings.Join(toFirst, "\n"), "SERVER_NOTIFICATION 5 board "+itoa(uint32(id)))
	expect(t, strings.Join(toSecond, "\n"), "ACK 1",
		"SERVER_HELLO 08 "+start+" w board "+itoa(uint32(id))+" "+boardKeys)
}

// TestUnconfirmed: a hello whose client never sends again costs a board for a minute, not for
// two weeks.
func TestUnconfirmed(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	r.greet(1, 1)
	if r.p.boards.Free() != 0 || r.p.sessions.Len() != 1 {
		t.Fatal("the hello had no effect")
	}
	r.wait(61 * time.Second)
	if r.p.boards.Free() != 1 {
		t.Error("the board is still held")
	}
	// The session stays in memory until the store has it.
	if r.p.sessions.Len() != 1 {
		t.Error("forgotten before the store has the session")
	}
	r.apply()
	r.step(&Applied{Seq: r.seq})
	if r.p.sessions.Len() != 0 {
		t.Error("still in memory")
	}
}

// TestExpires: a player who is away for token-expiration loses their board, and is the same
// player if they come back in time.
func TestExpires(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def token-expiration 3600)")
	token, id := r.join(1)
	r.wait(50 * time.Minute)
	r.took()
	if got := r.send(peerAt(1), helloPacket(token, 2)); !strings.Contains(got, "board "+itoa(uint32(id))) {
		t.Errorf("got %s, want board %d", got, id)
	}
	r.wait(61 * time.Minute)
	if r.p.boards.Free() != 1 {
		t.Error("the board is still held")
	}
	r.apply()
	r.step(&Applied{Seq: r.seq})
	if r.p.sessions.Len() != 0 {
		t.Error("still in memory")
	}
}

// TestExpiryIsTold: with an expiration below the session-timeout the player may still be
// connected, and is told.
func TestExpiryIsTold(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def token-expiration 30)")
	r.join(1)
	r.wait(31 * time.Second)
	expect(t, r.took(), "SERVER_NOTIFICATION 6")
}

// TestRestart: reserved and active boards are in memory again, with their holders.
func TestRestart(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	token, id := r.join(1)
	mover, moved := r.join(2)
	r.send(peerAt(2), movePacket(mover, moved, 2, "e2e4"))
	next := r.p.boards.Held(r.p.sessions.Find(mover).ID()).ID()
	r.now = r.now.Add(time.Hour)
	r.restart()
	if n := r.p.boards.Len(); n != 3 {
		t.Errorf("got %d boards, want 3", n)
	}
	for _, tc := range []struct {
		peer  wamble.Peer
		token wamble.Token
		want  wamble.BoardID
	}{{peerAt(1), token, id}, {peerAt(2), mover, next}} {
		h, _ := wire.Peek(r.reply(tc.peer, helloPacket(tc.token, 1)))
		if h.Ctrl != wire.CtrlServerHello || h.Token != tc.token || h.Board != tc.want {
			t.Errorf("got %+v, want board %d", h, tc.want)
		}
	}
	if len(r.loads) != 0 {
		t.Errorf("%d loads: the holders were not in memory", len(r.loads))
	}
}

// TestRestoreDamaged: a board whose moves do not fit is played on from its position; one with
// an invalid position is not used.
func TestRestoreDamaged(t *testing.T) {
	r := newRig(t, "(def min-boards 0)")
	const fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
	inputs := []Input{
		&RestoreBoard{Board: wamble.Board{ID: 71, FEN: fen, Status: wamble.Dormant, Variant: -1, Created: epoch,
			Moves: []wamble.Move{{Ply: 1, UCI: "d2d4", Session: 1, At: epoch}}}},
		&RestoreBoard{Board: wamble.Board{ID: 72, FEN: "nonsense", Status: wamble.Dormant, Variant: -1,
			Created: epoch}},
	}
	r.step(inputs...)
	if len(r.out.Troubles) != 2 || r.p.boards.Board(71) == nil || r.p.boards.Board(71).FEN() != fen ||
		r.p.boards.Board(72) != nil {
		t.Errorf("got troubles %v", r.out.Troubles)
	}
}

// TestLeases: numbers are requested when half are used, and boards are made when they come.
func TestLeases(t *testing.T) {
	p := New(Options{Config: configOf(t, "(def min-boards 3000) (def max-boards 5000)"), Now: epoch, LeaseSize: 2000})
	var out Output
	p.Step(epoch, []Input{&Ready{}}, &out)
	if len(out.Leases) != len(leased)-1 || // predictions are off
		out.Leases[0] != (Lease{wamble.BoardIDs, 2000}) || p.boards.Len() != 0 {
		t.Fatalf("got leases %v, %d boards", out.Leases, p.boards.Len())
	}
	p.Step(epoch, nil, &out)
	if len(out.Leases) != 0 {
		t.Error("the same lease is wished for twice")
	}
	p.Step(epoch, []Input{&Leased{Sequence: wamble.BoardIDs}}, &out) // it failed
	if len(out.Leases) != 1 {
		t.Error("after a failed lease there is no new wish")
	}
	blocks := []wamble.Block{{First: 1, Count: 1500}, {First: 10001, Count: 1500}}
	p.Step(epoch, []Input{&Leased{Sequence: wamble.BoardIDs, Blocks: blocks}}, &out)
	steps := 1
	for ; !out.Next.IsZero() && !out.Next.After(epoch) && steps < 100; steps++ {
		if p.boards.Len() > steps*balanceAtOnce {
			t.Errorf("%d boards after %d steps", p.boards.Len(), steps)
		}
		p.Step(epoch, nil, &out)
	}
	if want := (3000 + balanceAtOnce - 1) / balanceAtOnce; p.boards.Len() != 3000 || steps != want {
		t.Errorf("got %d boards after %d steps, want 3000 after %d", p.boards.Len(), steps, want)
	}
}

// TestLastSeen: the time is journaled at most once a minute, with another frame or alone, and
// no packet waits for it.
func TestLastSeen(t *testing.T) {
	r := newRig(t, "")
	token, id := r.join(1)
	r.wait(2 * time.Minute)
	r.apply()
	r.took()
	r.step(&Packet{Peer: peerAt(1), Data: legalPacket(token, id, 2, 12)})
	if got := r.took(); !strings.HasPrefix(got, "ACK 2\nLEGAL_MOVES") || r.out.Frames.Len() != 0 {
		t.Errorf("got %s with %d frames", got, r.out.Frames.Len())
	}
	seen := r.now
	r.wait(1500 * time.Millisecond)
	if len(r.frames) != 1 || len(r.indexes) != 0 {
		t.Fatalf("got %d frames behind %d indexes, want 1 behind none", len(r.frames), len(r.indexes))
	}
	r.apply()
	if s := r.store.byToken(token); !s.LastSeen.Equal(seen) {
		t.Errorf("got %v, want %v", s.LastSeen, seen)
	}
}

// TestConfigure: new options hold at once.
func TestConfigure(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	token, _ := r.join(1)
	next := configOf(t, `(def min-boards 5) (def policy-default "deny")`)
	r.step(&Configure{Config: next})
	if n := r.p.boards.Len(); n != 5 {
		t.Errorf("got %d boards, want 5", n)
	}
	expect(t, r.send(peerAt(1), helloPacket(token, 2)), "ACK 2", `ERROR 1001 ""`)
}

// TestLoadsAreBounded: loads are bounded in all, and behind one token.
func TestLoadsAreBounded(t *testing.T) {
	r := newRig(t, "")
	r.options.MaxLoads = 2
	r.restart()
	cold := wamble.Token{1}
	for i := range maxWaiting {
		expect(t, r.send(peerAt(1), helloPacket(cold, uint32(i))), "")
	}
	expect(t, r.send(peerAt(1), helloPacket(cold, 99)), "ACK 99",
		`ERROR 1006 "too many requests wait for the database"`)
	expect(t, r.send(peerAt(2), helloPacket(wamble.Token{2}, 1)), "")
	expect(t, r.send(peerAt(3), helloPacket(wamble.Token{3}, 1)), "ACK 1",
		`ERROR 1006 "too many requests wait for the database"`)
	if n := len(r.loads); n != 2 {
		t.Errorf("got %d loads, want 2", n)
	}
}

// TestClosed: a closed connection is dropped; its requests are decided.
func TestClosed(t *testing.T) {
	r := newRig(t, "")
	peer := wamble.Peer{Addr: peerAt(1).Addr, Route: 7}
	r.stuck = true
	r.step(&Packet{Peer: peer, Data: helloPacket(wamble.Token{}, 1)})
	r.step(&PeerClosed{Peer: peer})
	r.stuck = false
	r.settle()
	expect(t, r.took(), "")
	if r.p.Stats().NewPlayers != 1 {
		t.Error("the request was not decided")
	}
}

// TestReadOnly: while the host keeps the server read-only nothing is decided, but legal moves
// can be asked for; afterwards the same request is new.
func TestReadOnly(t *testing.T) {
	r := newRig(t, "(def reservation-timeout 10)")
	token, id := r.join(1)
	r.step(&SetBrownout{Brownout: Brownout{ReadOnly: true}})
	const refusal = `ERROR 1006 "the server is read-only at present" unreliable`
	move := movePacket(token, id, 2, "e2e4")
	expect(t, r.send(peerAt(1), move), refusal)
	expect(t, r.send(peerAt(2), helloPacket(wamble.Token{}, 1)), refusal)
	if got := r.send(peerAt(1), legalPacket(token, id, 3, 12)); !strings.HasPrefix(got, "ACK 3\nLEGAL_MOVES") {
		t.Errorf("got %s", got)
	}
	// What has waited for a load is turned away too.
	r.step(&SetBrownout{})
	expect(t, r.send(peerAt(3), helloPacket(wamble.Token{3}, 1)), "")
	r.step(&SetBrownout{Brownout: Brownout{ReadOnly: true}})
	r.answerLoads()
	expect(t, r.took(), refusal)
	frames := len(r.frames)
	r.wait(5 * time.Second)
	if len(r.frames) != frames || r.p.boards.Held(r.p.sessions.Find(token).ID()) == nil {
		t.Error("something was decided")
	}
	r.took()
	r.step(&SetBrownout{})
	if got := r.send(peerAt(1), move); !strings.HasPrefix(got, "ACK 2\nBOARD_UPDATE") {
		t.Errorf("got %s, want the move", got)
	}
}

// TestManyAtOnce: thousands of boards become dormant in the same moment. That is
// several steps, and no frame is too large.
func TestManyAtOnce(t *testing.T) {
	const boards = 6000
	r := newRig(t, "(def min-boards 0) (def max-boards 10000) (def inactivity-timeout 60)")
	const fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
	for i := range boards {
		r.store.boards[wamble.BoardID(i+1)] = &wamble.Board{ID: wamble.BoardID(i + 1), FEN: fen, Status: wamble.Active,
			Variant: -1, Created: epoch,
			Moves: []wamble.Move{{Ply: 1, UCI: "e2e4", Session: 1, At: epoch}}}
	}
	r.restart()
	r.now = r.now.Add(time.Minute)
	steps, intents := 0, 0
	for more := true; more; steps++ {
		r.step(&Tick{})
		inStep := 0
		for i := range r.out.Frames.Len() {
			list, err := journal.Decode(r.out.Frames.At(i))
			if err != nil || len(list) > maxFrame {
				t.Fatalf("a frame of %d intents: %v", len(list), err)
			}
			inStep += len(list)
		}
		intents += inStep
		if inStep > 4096 {
			t.Errorf("%d intents in one step", inStep)
		}
		more = !r.out.Next.IsZero() && !r.out.Next.After(r.now)
	}
	if intents != boards || steps < 2 {
		t.Errorf("got %d intents in %d steps, want %d in some", intents, steps, boards)
	}
}

// TestManyExpireAtOnce: thousands of sessions, with their boards, expire in several steps.
func TestManyExpireAtOnce(t *testing.T) {
	const holders = 9000
	r := newRig(t, "(def min-boards 0) (def max-boards 10000) (def token-expiration 3600)")
	for i := range holders {
		id, s := wamble.BoardID(i+1), wamble.SessionID(i+1)
		token := wamble.Token{1, byte(i), byte(i >> 8)}
		r.store.sessions[s] = &wamble.Session{ID: s, Token: hashOf(token), LastSeen: epoch}
		r.store.boards[id] = &wamble.Board{ID: id, FEN: chess.Start().FEN(), Status: wamble.Reserved, Variant: -1,
			Created: epoch,
			Holder:  &wamble.Reservation{Board: id, Session: s, At: epoch, Expires: epoch.Add(24 * time.Hour)}}
	}
	r.restart()
	if r.p.boards.Free() != 0 || r.p.sessions.Len() != holders {
		t.Fatalf("%d boards are free, %d sessions", r.p.boards.Free(), r.p.sessions.Len())
	}
	r.now = r.now.Add(time.Hour)
	r.step(&Tick{})
	if n := r.p.boards.Free(); n == 0 || n == holders {
		t.Errorf("%d boards were freed in one step", n)
	}
	r.wait(time.Second)
	if n := r.p.boards.Free(); n != holders {
		t.Errorf("%d boards are free, want %d", n, holders)
	}
}

// TestNumbersAfterARestart: a client that takes a packet with an earlier control code and
// number for a copy reads a restarted server's packets all the same. Only SERVER_HELLO always
// has the number 1.
func TestNumbersAfterARestart(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	type packet struct {
		ctrl wire.Control
		seq  uint32
	}
	heard := map[packet]int{} // by life
	token, id := r.join(1)
	for life := range 20 {
		r.sent = nil
		if life > 0 {
			r.step(&Packet{Peer: peerAt(1), Data: helloPacket(token, uint32(100*life))})
			r.settle()
			r.answerLoads()
		}
		for i := range uint32(50) {
			r.step(&Packet{Peer: peerAt(1), Data: legalPacket(token, id, uint32(100*life)+2+i, 12)})
			r.settle()
		}
		answers := 0
		for _, s := range r.sent {
			h, err := wire.Peek(s.packet)
			if err != nil || h.Ctrl == wire.CtrlAck || h.Ctrl == wire.CtrlServerHello || h.Flags.Unreliable() {
				continue
			}
			if before, known := heard[packet{h.Ctrl, h.Seq}]; known && before != life {
				t.Fatalf("%v %d of life %d came in life %d", h.Ctrl, h.Seq, life, before)
			}
			heard[packet{h.Ctrl, h.Seq}] = life
			answers++
		}
		if answers < 50 {
			t.Fatalf("%d answers in life %d", answers, life)
		}
		r.restart()
		r.wait(time.Second)
	}
}
