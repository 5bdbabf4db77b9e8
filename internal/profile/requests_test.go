package profile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

const (
	start      = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"
	boardKeys  = "session.caps reservation.reserved_at board.fen board.version"
	boardKeys2 = "session.caps reservation.reserved_at last_move.from last_move.to board.fen board.version"
)

// expect compares what was sent with lines in words.
func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if w := strings.Join(want, "\n"); got != w {
		t.Errorf("got\n%s\nwant\n%s", got, w)
	}
}

func TestHello(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	got := r.greet(1, 1)
	expect(t, got, "ACK 1", "SERVER_HELLO 08 "+start+" w board 1 session.caps reservation.reserved_at board.fen board.version")

	token, id := r.join(2)
	if id != 2 || token.IsZero() {
		t.Fatalf("got board %d, token %v; want board 2, a new one", id, token)
	}
	// The same player again: same token, same board; from a proven address, so that the
	// answer is complete.
	got = r.send(peerAt(2), helloPacket(token, 2))
	expect(t, got, "ACK 2", "SERVER_HELLO 0b "+start+" w board 2 "+boardKeys)
	if s := r.p.Stats(); s.NewPlayers != 2 || s.Hellos != 3 {
		t.Errorf("got %+v, want 2 new players of 3 hellos", s)
	}
}

// TestHelloFields checks the header and the values of the fields.
func TestHelloFields(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def chess960-interval 0)")
	token, id := r.join(1)
	r.now = r.now.Add(90 * time.Second)
	var p wire.Packet
	if err := p.Decode(r.reply(peerAt(1), helloPacket(token, 2))); err != nil {
		t.Fatal(err)
	}
	if p.Ctrl != wire.CtrlServerHello || p.Seq != 1 || p.Token != token || p.Board != id || p.Flags != 0x0b ||
		p.Version != 1 {
		t.Errorf("got header %+v", p.Header)
	}
	board := r.p.boards.Board(id)
	for key, want := range map[string]int64{
		wire.KeySessionCaps:           int64(r.p.caps(nil)),
		wire.KeyReservationReservedAt: epoch.Unix(),
		wire.KeyBoardVersion:          int64(board.Version()),
	} {
		if got, ok := p.Ext.Int(key); !ok || got != want {
			t.Errorf("%s: got %d %v, want %d", key, got, ok, want)
		}
	}
	if got, _ := p.Ext.Text(wire.KeyBoardFEN); got != board.FEN() {
		t.Errorf("got %q, want %q", got, board.FEN())
	}
}

// reply returns the last packet that answers b.
func (r *rig) reply(from wamble.Peer, b []byte) []byte {
	r.t.Helper()
	r.step(&Packet{Peer: from, Data: b})
	r.settle()
	if len(r.sent) == 0 {
		r.t.Fatal("no reply")
	}
	last := r.sent[len(r.sent)-1].packet
	r.sent = nil
	return last
}

func TestHelloCapabilities(t *testing.T) {
	for _, tc := range []struct {
		name        string
		asked, want wire.Flags
	}{
		{"none asked", 0, 0x0b},
		{"hot reload", wire.CapHotReload, 0x09},
		{"profile state", wire.CapProfileState, 0x0a},
		{"unknown", 0x40, 0x08},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "")
			b := encode(wire.Header{Seq: 1, Flags: tc.asked}, wire.ClientHello{})
			h, _ := wire.Peek(r.reply(peerAt(1), b))
			if h.Flags != tc.want {
				t.Errorf("got flags %02x, want %02x", h.Flags, tc.want)
			}
		})
	}
}

func TestHelloRefused(t *testing.T) {
	unknown := wamble.Token{9}
	for _, tc := range []struct {
		name, conf string
		prepare    func(r *rig)
		packet     []byte
		want       []string
	}{
		{"version", "", nil, encode(wire.Header{Seq: 1, Version: 3}, wire.ClientHello{}),
			[]string{"ACK 1", `ERROR 1000 "upgrade required (client=3 server=1)" error.blocking`}},
		{"version 0 is the number of the packet", "", nil, withVersion(helloPacket(wamble.Token{}, 7), 0),
			[]string{"ACK 7", `ERROR 1000 "upgrade required (client=7 server=1)" error.blocking`}},
		{"version 0 of the first packet", "(def min-boards 1)", nil, withVersion(helloPacket(wamble.Token{}, 1), 0),
			[]string{"ACK 1", "SERVER_HELLO 0b " + start + " w board 1 " + boardKeys}},
		{"no room", "(def max-players 1)", func(r *rig) { r.join(5) }, helloPacket(wamble.Token{}, 1),
			[]string{"ACK 1", `ERROR 1006 "could not create player session"`}},
		{"no number for a session", "", func(r *rig) { drain(r, wamble.SessionIDs) }, helloPacket(wamble.Token{}, 1),
			[]string{"ACK 1", `ERROR 1006 "could not create player session"`}},
		{"no board", "(def max-boards 1) (def min-boards 1)", func(r *rig) { r.join(5) },
			helloPacket(wamble.Token{}, 1),
			[]string{"ACK 1", `ERROR 1008 "no board available for assignment" error.blocking`}},
		{"no board, and content", "(def max-boards 1) (def min-boards 1)", func(r *rig) { r.join(5) },
			encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, 1)),
			[]string{"ACK 1", "SERVER_HELLO 08  session.caps wait.place"}},
		{"no number for a board, and content", "(def min-boards 0)", func(r *rig) { drain(r, wamble.BoardIDs) },
			encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, 1)),
			[]string{"ACK 1", "SERVER_HELLO 08  session.caps wait.place"}},
		{"no number for a board", "(def min-boards 0)", func(r *rig) { drain(r, wamble.BoardIDs) },
			helloPacket(wamble.Token{}, 1),
			[]string{"ACK 1", `ERROR 1006 "no number is left for a new board"`}},
		{"too many new players", "(def new-players-per-ip-per-min 1)", func(r *rig) { r.join(1) },
			helloPacket(wamble.Token{}, 1),
			[]string{"ACK 1", `ERROR 1001 "too many new players from your address"`}},
		{"store away", "", func(r *rig) { r.step(&StoreAway{}) }, helloPacket(unknown, 1),
			[]string{"ACK 1", `ERROR 1006 "database away"`}},
		{"denied by policy", `(def policy-default "deny")`, nil, helloPacket(wamble.Token{}, 1),
			[]string{"ACK 1", `ERROR 1001 ""`}},
		{"unreliable", "(def min-boards 1)", nil,
			encode(wire.Header{Seq: 4, Flags: wire.FlagUnreliable}, wire.ClientHello{}),
			[]string{"SERVER_HELLO 0b " + start + " w board 1 " + boardKeys}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.conf)
			if tc.prepare != nil {
				tc.prepare(r)
			}
			r.sent = nil
			players := r.p.sessions.Len()
			from := wamble.Peer{Addr: addrPort(peerAt(1), 99)}
			var p wire.Packet
			if err := p.Decode(tc.packet); err != nil {
				t.Fatal(err)
			}
			if p.Version == wire.Version && p.Token.IsZero() && !p.Flags.Unreliable() {
				tc.packet = r.withCookie(from, p.Token, p.Seq, p.Ext...)
			}
			got := r.send(from, tc.packet)
			expect(t, got, tc.want...)
			if strings.Contains(got, "ERROR") && r.p.sessions.Len() != players {
				t.Error("a refused hello left a player behind")
			}
		})
	}
}

func withVersion(b []byte, v byte) []byte {
	b = bytes.Clone(b)
	b[2] = v
	return b
}

// drain uses up the numbers of a sequence, and blocks new leases.
func drain(r *rig, s wamble.Sequence) {
	for r.p.leases.Remaining(s) > 0 {
		r.p.leases.Next(s)
	}
	r.p.leases.Want(s, r.p.clock.since)
}

func TestHelloCold(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	known := wamble.Token{7, 7}
	r.store.sessions[500] = &wamble.Session{ID: 500, Token: hashOf(known), LastSeen: epoch,
		Stats: wamble.Stats{Games: 3}}

	expect(t, r.send(peerAt(1), helloPacket(known, 1)), "")
	// Requests of the same token wait behind the load, in order; a repetition is
	// dropped.
	expect(t, r.send(peerAt(1), helloPacket(known, 1)), "")
	expect(t, r.send(peerAt(1), legalPacket(known, 1, 2, 12)), "")
	if len(r.loads) != 1 {
		t.Fatalf("got loads %+v, want 1", r.loads)
	}
	r.answerLoads()
	// The player's token is real: at a new address, too, they get one answer to each
	// question.
	expect(t, r.took(), "ACK 1", "ACK 2", "SERVER_HELLO 0b "+start+" w board 1 "+boardKeys,
		"LEGAL_MOVES 12 [{12 20 0} {12 28 0}] board 1")
	if s := r.p.sessions.Find(known); s == nil || s.ID() != 500 || s.Games().All != 3 {
		t.Errorf("got session %+v", s)
	}

	// A token that the store does not know is not adopted.
	unknown := wamble.Token{8, 8}
	expect(t, r.send(peerAt(2), helloPacket(unknown, 1)), "")
	r.step(r.store.answer(r.loads[0]))
	r.loads = nil
	r.settle()
	var token wamble.Token
	for _, s := range r.sent {
		if p, _ := wire.Peek(s.packet); p.Ctrl == wire.CtrlServerHello {
			token = p.Token
		}
	}
	if token == unknown || token.IsZero() {
		t.Errorf("got token %v, want a new one", token)
	}
}

// TestKnownTokenNeverBecomesNew: while the store cannot be asked, a token that
// it may know gets an error.
func TestKnownTokenNeverBecomesNew(t *testing.T) {
	r := newRig(t, "")
	known := wamble.Token{7, 7}
	r.store.sessions[500] = &wamble.Session{ID: 500, Token: hashOf(known), LastSeen: epoch}
	players := r.p.sessions.Len()

	// The store goes away while it is asked.
	expect(t, r.send(peerAt(1), helloPacket(known, 1)), "")
	r.store.away = true
	r.answerLoads()
	expect(t, r.took(), "ACK 1", `ERROR 1006 "database away"`)
	// It is known to be away; new players and tokens in memory are served.
	r.step(&StoreAway{})
	expect(t, r.send(peerAt(1), helloPacket(known, 2)), "ACK 2", `ERROR 1006 "database away"`)
	expect(t, r.send(peerAt(1), movePacket(known, 1, 3, "e2e4")), "ACK 3", `ERROR 1006 "database away"`)
	if r.p.sessions.Len() != players {
		t.Error("a known token became a new player")
	}
	token, id := r.join(2)
	if got := r.send(peerAt(2), movePacket(token, id, 2, "e2e4")); !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("got %s, want a move during the outage", got)
	}
	board := r.p.boards.Held(r.p.sessions.Find(token).ID()).ID()
	if got := r.send(peerAt(2), legalPacket(token, board, 3, 12)); !strings.Contains(got, "LEGAL_MOVES") {
		t.Errorf("got %s, want legal moves during the outage", got)
	}
	if got := r.send(peerAt(2), helloPacket(token, 4)); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("got %s, want a hello of a token in memory during the outage", got)
	}
	// It is back.
	r.store.away = false
	r.step(&StoreBack{})
	r.took()
	expect(t, r.send(peerAt(1), helloPacket(known, 4)), "")
	r.answerLoads()
	if got := r.took(); !strings.Contains(got, "SERVER_HELLO") || r.p.sessions.Find(known) == nil {
		t.Errorf("got %s, want the player of the token", got)
	}
}

func TestMove(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	token, id := r.join(1)
	got := r.send(peerAt(1), movePacket(token, id, 2, "e2e4"))
	// The profile has this board, and may make one more: never the one just left.
	expect(t, got, "ACK 2", "BOARD_UPDATE 08 "+start+" w board 2 "+boardKeys)

	// Another player sees the move.
	token2, id2 := r.join(2)
	if id2 != id {
		t.Fatalf("got board %d, want %d", id2, id)
	}
	expect(t, r.send(peerAt(2), helloPacket(token2, 2)), "ACK 2",
		"SERVER_HELLO 0b rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b board 1 "+boardKeys2)
	// An unproven address is sent 8 × 34 bytes at most: the last fields are left out.
	expect(t, r.send(peerAt(3), helloPacket(token2, 1)), "ACK 1",
		"SERVER_HELLO 0b rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b board 1 session.caps reservation.reserved_at last_move.from last_move.to board.fen")
	r.apply()
	if moves := r.store.boards[id].Moves; len(moves) != 1 || moves[0].UCI != "e2e4" {
		t.Errorf("got moves %+v", moves)
	}
}

func TestMoveRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		// packet is made of the player's token and board, and of another player's board.
		packet func(token wamble.Token, own, other wamble.BoardID) []byte
		loads  bool
		want   []string
	}{
		{"unknown player", func(_ wamble.Token, own,
			_ wamble.BoardID) []byte {
			return movePacket(wamble.Token{9}, own, 2, "e2e4")
		}, true,
			[]string{"ACK 2", `ERROR 1007 "unknown player" board 1 error.blocking`}},
		{"unknown board", func(t wamble.Token, _, _ wamble.BoardID) []byte { return movePacket(t, 77, 2, "e2e4") },
			true,
			[]string{"ACK 2", `ERROR 1008 "unknown board" board 77 error.blocking`}},
		{"not the holder", func(t wamble.Token, _,
			other wamble.BoardID) []byte {
			return movePacket(t, other, 2, "e2e4")
		}, false,
			[]string{"ACK 2", `ERROR 1009 "move rejected (status=2)"`}},
		{"bad notation", func(t wamble.Token, own, _ wamble.BoardID) []byte { return movePacket(t, own, 2, "e9e4") },
			false,
			[]string{"ACK 2", `ERROR 1009 "move rejected (status=4)"`}},
		{"no notation", func(t wamble.Token, own, _ wamble.BoardID) []byte { return movePacket(t, own, 2, "") }, false,
			[]string{"ACK 2", `ERROR 1009 "move rejected (status=4)"`}},
		{"illegal", func(t wamble.Token, own, _ wamble.BoardID) []byte { return movePacket(t, own, 2, "e2e5") }, false,
			[]string{"ACK 2", `ERROR 1009 "move rejected (status=5)"`}},
		{"malformed", func(t wamble.Token, own, _ wamble.BoardID) []byte {
			b := movePacket(t, own, 2, "e2e4")
			b[34] = 7
			return b
		}, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 1)")
			token, own := r.join(1)
			_, other := r.join(2)
			got := r.send(peerAt(1), tc.packet(token, own, other))
			if tc.loads {
				expect(t, got, "")
				r.answerLoads()
				got = r.took()
			}
			expect(t, got, tc.want...)
			if n := r.p.boards.Board(own).Plies(); n != 0 {
				t.Errorf("the board has %d plies after a refused move", n)
			}
		})
	}
}

func TestLegalMoves(t *testing.T) {
	for _, tc := range []struct {
		name   string
		packet func(token wamble.Token, own, other wamble.BoardID) []byte
		loads  bool
		want   []string
	}{
		{"a pawn", func(t wamble.Token, own, _ wamble.BoardID) []byte { return legalPacket(t, own, 2, 12) }, false,
			[]string{"ACK 2", "LEGAL_MOVES 12 [{12 20 0} {12 28 0}] board 1"}},
		{"an empty square", func(t wamble.Token, own, _ wamble.BoardID) []byte { return legalPacket(t, own, 2, 35) },
			false,
			[]string{"ACK 2", "LEGAL_MOVES 35 [] board 1"}},
		{"not the holder", func(t wamble.Token, _,
			other wamble.BoardID) []byte {
			return legalPacket(t, other, 2, 200)
		}, false,
			[]string{"ACK 2", "LEGAL_MOVES 200 [] board 2"}},
		{"no such square", func(t wamble.Token, own, _ wamble.BoardID) []byte { return legalPacket(t, own, 2, 64) },
			false,
			[]string{"ACK 2", `ERROR 1010 "invalid square index"`}},
		{"unknown player", func(_ wamble.Token, own,
			_ wamble.BoardID) []byte {
			return legalPacket(wamble.Token{9}, own, 2, 12)
		}, true,
			[]string{"ACK 2", `ERROR 1007 "unknown player" board 1 error.blocking`}},
		{"unknown board", func(t wamble.Token, _, _ wamble.BoardID) []byte { return legalPacket(t, 77, 2, 12) }, false,
			[]string{"ACK 2", `ERROR 1008 "unknown board" board 77 error.blocking`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 1)")
			token, own := r.join(1)
			_, other := r.join(2)
			got := r.send(peerAt(1), tc.packet(token, own, other))
			if tc.loads {
				r.answerLoads()
				got = r.took()
			}
			expect(t, got, tc.want...)
		})
	}
}

func TestLegalPromotions(t *testing.T) {
	r := newRig(t, "(def min-boards 0)")
	r.store.boards[900] = &wamble.Board{ID: 900, FEN: "8/P7/8/8/8/8/k7/7K w - - 0 1", Status: wamble.Dormant,
		Variant: -1, Created: epoch}
	r.restart()
	token, id := r.join(1)
	expect(t, r.send(peerAt(1), legalPacket(token, id, 2, 48)), "ACK 2",
		"LEGAL_MOVES 48 [{48 56 113} {48 56 114} {48 56 98} {48 56 110}] board 900")
}

func TestGoodbye(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	token, id := r.join(1)
	bye := encode(wire.Header{Token: token, Seq: 2}, wire.ClientGoodbye{})
	expect(t, r.send(peerAt(1), bye), "ACK 2")
	if h := r.p.boards.Board(id).Holder(); h != 0 {
		t.Errorf("the board is held by %d after the goodbye", h)
	}
	expect(t, r.send(peerAt(1), bye), "ACK 2")
	unknown := encode(wire.Header{Token: wamble.Token{4}, Seq: 1}, wire.ClientGoodbye{})
	expect(t, r.send(peerAt(2), unknown), "ACK 1")
	// The old token is refused from now on: its player is a new one when they come back.
	expect(t, r.send(peerAt(1), movePacket(token, id, 3, "e2e4")), "ACK 3",
		`ERROR 1007 "unknown player" board 1 error.blocking`)
	h, _ := wire.Peek(r.reply(peerAt(1), helloPacket(token, 4)))
	if h.Ctrl != wire.CtrlServerHello || h.Token == token {
		t.Errorf("got %+v, want a new player", h)
	}
}

// TestOtherRequests: control codes that clients may not send are acknowledged only.
func TestOtherRequests(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	seq := uint32(1)
	for _, c := range wire.Controls() {
		info, _ := c.Info()
		if c == wire.CtrlAck || c.Request() {
			continue
		}
		seq++
		got := r.send(peerAt(1), minimal(t, c, token, seq))
		if want := "ACK " + itoa(seq); got != want {
			t.Errorf("%s: got %q, want %q", info.Name, got, want)
		}
	}
}
