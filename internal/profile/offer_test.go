package profile

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/wire"
)

// offered says hello without a cookie, as clients of the original do, and returns the offer.
func (r *rig) offered(from wamble.Peer) wire.Header {
	r.t.Helper()
	return r.offeredTo(from, wamble.Token{})
}

// offeredTo is offered for a hello with an unknown token.
func (r *rig) offeredTo(from wamble.Peer, token wamble.Token) wire.Header {
	r.t.Helper()
	r.step(&Packet{Peer: from, Data: helloPacket(token, 1)})
	r.settle()
	r.answerLoads()
	r.settle()
	h, err := wire.Peek(r.sent[len(r.sent)-1].packet)
	r.took()
	if err != nil || h.Ctrl != wire.CtrlServerHello || h.Token.IsZero() || h.Board == 0 {
		r.t.Fatalf("got %+v, want a token and a board", h)
	}
	return h
}

// TestOfferOutlivesAHandoff: a player who was greeted by one process plays on in the next.
func TestOfferOutlivesAHandoff(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	me := r.offered(peerAt(1))
	cookie := r.withCookie(peerAt(2), wamble.Token{}, 1)
	r.wait(3 * time.Second)
	r = handOver(t, r)
	r.step(&Packet{Peer: peerAt(1), Data: movePacket(me.Token, me.Board, 2, "e2e4")})
	r.answerLoads() // only the store can say whether the token was accepted before
	r.settle()
	if got := r.took(); !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("the move is answered by %s", got)
	}
	if got := r.send(peerAt(2), cookie); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("a hello with a cookie is answered by %s", got)
	}
}

// wished says hello without a cookie and with a field, and then sends a packet with the token
// that it is offered.
func (r *rig) wished(from wamble.Peer, field wire.Field) wamble.Token {
	r.t.Helper()
	h, err := wire.Peek(r.reply(from, encode(wire.Header{Seq: 1}, wire.ClientHello{}, field)))
	if err != nil || h.Ctrl != wire.CtrlServerHello || h.Token.IsZero() {
		r.t.Fatalf("got %+v, %v, want a token", h, err)
	}
	r.send(from, ackPacket(h.Token, 1))
	return h.Token
}

// TestOfferKeepsWishes: a player who accepts to wait waits for a board, and one who declares
// to be a program is marked, though the first hello is not stored.
func TestOfferKeepsWishes(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	first, board := r.join(1)
	waiting := r.wished(peerAt(2), wire.Int(wire.KeyHelloWithoutBoard, 1))
	if s := r.p.sessions.Find(waiting); s == nil || r.p.waitlist.place(s.ID()) != 1 {
		t.Fatal("the player does not wait for a board")
	}
	r.send(peerAt(1), movePacket(first, board, 2, "e2e4"))
	r.wait(time.Second)
	if r.holding(waiting) != board {
		t.Error("the player did not get the board that became free")
	}

	r = newRig(t, "(def min-boards 4)")
	program := r.wished(peerAt(1), wire.Int(wire.KeyHelloBot, 1))
	if s := r.p.sessions.Find(program); s == nil || !s.Bot() || r.p.Gauges().Bots != 1 {
		t.Error("it is not marked as a program")
	}
	r = newRig(t, "(def max-bots 0)")
	if got := r.send(peerAt(1), encode(wire.Header{Seq: 1}, wire.ClientHello{},
		wire.Int(wire.KeyHelloBot, 1))); !strings.Contains(got, "no bots are let in") {
		t.Errorf("got %s", got)
	}
}

// TestForgedHellosLeaveNothing: hellos with many forged addresses cause no session, no board
// and no frame, whatever cookie they carry.
func TestForgedHellosLeaveNothing(t *testing.T) {
	for _, conf := range []string{
		"", "(def min-boards 0)", "(def min-boards 1) (def max-boards 1)", `(def tos-text "be kind")`,
		"(def keep-shown-moves 1)",
	} {
		r := newRig(t, conf)
		if strings.Contains(conf, "max-boards 1") {
			r.join(1) // nothing is free
		}
		before, seq := r.p.Gauges(), r.seq
		for n := range 500 {
			hello := helloPacket(wamble.Token{}, 1)
			switch n % 4 {
			case 1:
				hello = encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.NoCookie())
			case 2:
				hello = encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, 1))
			case 3:
				hello = encode(wire.Header{Token: wamble.Token{1, byte(n)}, Seq: 1}, wire.ClientHello{})
			}
			r.step(&Packet{Peer: peerAt(100 + n), Data: hello})
			r.answerLoads()
			r.settle()
		}
		after := r.p.Gauges()
		drawn := before.BoardIDs - after.BoardIDs // for boards that are not made yet
		before.BoardIDs = after.BoardIDs
		if after != before || r.seq != seq || drawn > 256 {
			t.Errorf("%s: %d frames; %+v became %+v", conf, r.seq-seq, before, after)
		}
		if s := r.p.Stats(); s.Offers == 0 && s.NoBoard == 0 && !strings.Contains(conf, "max-boards 1") {
			t.Errorf("%s: nobody was answered: %+v", conf, s)
		}
	}
}

// TestOfferBecomesASession: with the second packet that has the token, whatever it is, and
// with the board that was shown.
func TestOfferBecomesASession(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  func(me wire.Header) []byte
		want string
	}{
		{"ACK", func(me wire.Header) []byte { return ackPacket(me.Token, 1) }, ""},
		{"move", func(me wire.Header) []byte { return movePacket(me.Token, me.Board, 2, "e2e4") }, "BOARD_UPDATE"},
		{"legal moves", func(me wire.Header) []byte { return legalPacket(me.Token, me.Board, 2, 12) }, "LEGAL_MOVES 12 [{12 20 0}"},
		{"hello", func(me wire.Header) []byte { return helloPacket(me.Token, 2) }, "SERVER_HELLO"},
		{"stats", func(me wire.Header) []byte {
			return encode(wire.Header{Token: me.Token, Seq: 2}, wire.GetPlayerStats{})
		}, "PLAYER_STATS_DATA"},
		{"watching", func(me wire.Header) []byte {
			return encode(wire.Header{Token: me.Token, Seq: 2}, wire.SpectateGame{})
		}, "SPECTATE_UPDATE"},
		{"profiles", func(me wire.Header) []byte {
			return encode(wire.Header{Token: me.Token, Seq: 2}, wire.ListProfiles{})
		}, "PROFILES_LIST"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 4)")
			me := r.offered(peerAt(1))
			if tc.name != "ACK" {
				r.wait(10 * time.Minute) // the player thinks
			}
			if got := r.asks(peerAt(1), tc.ask(me)); !strings.Contains(got, tc.want) || strings.Contains(got, "ERROR") {
				t.Errorf("answered by %s", got)
			}
			s := r.p.sessions.Find(me.Token)
			if s == nil || r.p.sessions.Len() != 1 || r.p.boards.Held(s.ID()) == nil {
				t.Fatalf("session %v of %d", s, r.p.sessions.Len())
			}
			if held := r.p.boards.Held(s.ID()).ID(); held != me.Board && tc.name != "move" {
				t.Errorf("the player holds board %d, and was shown %d", held, me.Board)
			}
			if got := r.send(peerAt(1),
				legalPacket(me.Token, r.p.boards.Held(s.ID()).ID(), 3, 12)); !strings.Contains(got, "LEGAL_MOVES") {
				t.Errorf("the next request is answered by %s", got)
			}
			if got := r.p.Stats(); got.NewPlayers != 1 {
				t.Errorf("%d new players", got.NewPlayers)
			}
			r.apply() // the store takes the token once
		})
	}
}

// TestGoodbyeAcceptsNothing: a player who leaves before their first request has no session.
func TestGoodbyeAcceptsNothing(t *testing.T) {
	r := newRig(t, "")
	me := r.offered(peerAt(1))
	r.send(peerAt(1), encode(wire.Header{Token: me.Token, Seq: 2}, wire.ClientGoodbye{}))
	if r.p.sessions.Len() != 0 {
		t.Error("a goodbye made a session")
	}
}

// TestOfferedBoardIsGivenAway: another player who needs the offered board gets it, and the
// first is shown another one after the answer to their request.
func TestOfferedBoardIsGivenAway(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 3)")
	me := r.offered(peerAt(1))
	if _, board := r.join(2); board != me.Board {
		t.Fatalf("board %d was made, though %d is free", board, me.Board)
	}
	got := strings.Split(r.send(peerAt(1), legalPacket(me.Token, me.Board, 2, 12)), "\n")
	if len(got) != 3 || !strings.HasPrefix(got[1], "LEGAL_MOVES 12 []") || !strings.HasPrefix(got[2], "BOARD_UPDATE") {
		t.Errorf("answered by %q", got)
	}
}

// TestOfferedBoardGoesOn: a player whose offered board has moved on before they begin does
// not move in a position that they have not seen, though their move is legal there.
func TestOfferedBoardGoesOn(t *testing.T) {
	for _, conf := range []string{"(def min-boards 1) (def max-boards 4)", "(def min-boards 1) (def max-boards 1)"} {
		for _, first := range []string{"move", "ACK", "ACK of who had another token"} {
			t.Run(first+conf, func(t *testing.T) {
				r := newRig(t, conf)
				var before wamble.Token
				if first == "ACK of who had another token" {
					before = wamble.Token{7}
				}
				me := r.offeredTo(peerAt(1), before)
				r.wait(time.Second)
				for n, uci := range []string{"e2e4", "e7e5"} { // of two others
					by := board.Player{Session: wamble.SessionID(90 + n), Offered: me.Board}
					if got, err := r.p.boards.Assign(r.now, by, &r.p.frame); err != nil || got.Board.ID() != me.Board {
						t.Fatal(got.Board, err)
					}
					if _, err := r.p.boards.Play(r.now, me.Board, board.Mover{Session: by.Session, Rating: -1}, uci,
						&r.p.frame); err != nil {
						t.Fatal(err)
					}
				}
				if first != "move" {
					r.step(&Packet{Peer: peerAt(1), Data: ackPacket(me.Token, 1)})
				}
				if got := r.send(peerAt(1), movePacket(me.Token, me.Board, 2, "g1f3")); !strings.Contains(got,
					"ERROR 1009") || !strings.Contains(got, "BOARD_UPDATE") {
					t.Errorf("answered by %s", got)
				}
				if n := r.p.boards.Board(me.Board).Plies(); n != 2 {
					t.Fatalf("the board has %d moves", n)
				}
				// The player has seen it now, and plays on.
				held := r.holding(me.Token)
				for back := range uint32(8) { // whichever was pushed last
					r.send(peerAt(1), ackPacket(me.Token, r.last-back))
				}
				if got := r.send(peerAt(1), movePacket(me.Token, held, 3, "g1f3")); !strings.Contains(got,
					"BOARD_UPDATE") {
					t.Errorf("the move on board %d is answered by %s", held, got)
				}
			})
		}
	}
}

// TestMoveTellsPly: a move that says how many moves its player sees is made in that position
// alone. One that was made already is answered again, also when the player holds the board
// anew.
func TestMoveTellsPly(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	token, id := r.join(1)
	at := func(seq uint32, plies int64, uci string) string {
		return r.send(peerAt(1), movePacket(token, id, seq, uci, wire.Int(wire.KeyBoardPly, plies)))
	}
	for _, tc := range []struct {
		plies int64
		uci   string
		want  string // in the answer
		made  int    // afterwards
	}{
		{0, "g1f3", "BOARD_UPDATE", 1}, {1, "g8f6", "BOARD_UPDATE", 2},
		{0, "b1c3", "ERROR 1009", 2}, // legal now, and meant for the start
		{9, "b1c3", "ERROR 1009", 2}, {-1, "b1c3", "ERROR 1009", 2},
		{2, "f3g1", "BOARD_UPDATE", 3}, {3, "f6g8", "BOARD_UPDATE", 4},
		{0, "g1f3", "BOARD_UPDATE", 4}, // its answer got lost
		{4, "g1f3", "BOARD_UPDATE", 5}, // another one
	} {
		got := at(uint32(10+r.p.Stats().Moves+r.p.Stats().Rejected+r.p.Stats().Repeats), tc.plies, tc.uci)
		if n := r.p.boards.Board(id).Plies(); !strings.Contains(got, tc.want) ||
			!strings.Contains(got, "BOARD_UPDATE") || n != tc.made {
			t.Errorf("%s after %d: %d moves, %s", tc.uci, tc.plies, n, got)
		}
	}
}

// TestOffersDiffer: while boards are free, every newcomer is shown another one.
func TestOffersDiffer(t *testing.T) {
	r := newRig(t, "(def min-boards 20)")
	seen := map[wamble.BoardID]bool{}
	for n := range 10 {
		seen[r.offered(peerAt(1+n)).Board] = true
		_, board := r.join(50 + n)
		seen[board] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 players were shown %d boards", len(seen))
	}
}

// TestOfferElsewhere: the token of an offer is valid only from the address it was sent to.
func TestOfferElsewhere(t *testing.T) {
	r := newRig(t, "")
	me := r.offered(peerAt(1))
	r.step(&Packet{Peer: peerAt(2), Data: movePacket(me.Token, me.Board, 2, "e2e4")})
	r.answerLoads()
	r.settle()
	if got := r.took(); !strings.Contains(got, "ERROR 1007") || r.p.sessions.Len() != 0 {
		t.Errorf("answered by %s, %d sessions", got, r.p.sessions.Len())
	}
}

// TestOfferIsAcceptedOnce: a token whose session has ended, or is in the store alone, makes
// no second session.
func TestOfferIsAcceptedOnce(t *testing.T) {
	r := newRig(t, "(def min-boards 2) (def session-timeout 60) (def reservation-timeout 100)")
	me := r.offered(peerAt(1))
	r.send(peerAt(1), encode(wire.Header{Token: me.Token, Seq: 2}, wire.ClientHello{}))
	id := r.p.sessions.Find(me.Token).ID()
	r.wait(3 * time.Minute)
	r.apply()
	r.step(&Applied{Seq: r.seq})
	if r.p.sessions.Find(me.Token) != nil {
		t.Fatal("the player is still in memory")
	}
	r.took()
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(me.Token, 3)})
	r.answerLoads()
	r.settle()
	if s := r.p.sessions.Find(me.Token); s == nil || s.ID() != id {
		t.Fatalf("the session is %+v: %s", s, r.took())
	}
	r.send(peerAt(1), encode(wire.Header{Token: me.Token, Seq: 4}, wire.ClientGoodbye{}))
	r.send(peerAt(1), movePacket(me.Token, me.Board, 5, "e2e4"))
	if n := r.p.Stats().NewPlayers; n != 1 || r.p.sessions.Find(me.Token) != nil {
		t.Errorf("%d new players, and the one who said goodbye is here: %v", n, r.p.sessions.Find(me.Token) != nil)
	}
	r.apply() // the store would refuse a second session
}

// TestOfferWhileTheStoreIsAway: newcomers play on without the store, unless it alone can say
// whether their token is new.
func TestOfferWhileTheStoreIsAway(t *testing.T) {
	r := newRig(t, "")
	me := r.offered(peerAt(1))
	r.step(&StoreAway{})
	if got := r.send(peerAt(1), movePacket(me.Token, me.Board, 2, "e2e4")); !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("answered by %s", got)
	}
	old := r.offered(peerAt(2))
	r.p.sessions.SetOldestForgotten(r.now.Add(time.Second))
	if got := r.send(peerAt(2), movePacket(old.Token, old.Board, 2, "e2e4")); !strings.Contains(got, "database away") {
		t.Errorf("answered by %s", got)
	}
}

// TestOfferRefused: a refusal of new players is sent for their second packet, and nothing of
// them is kept.
func TestOfferRefused(t *testing.T) {
	for _, tc := range []struct {
		name, conf string
		prepare    func(r *rig)
		want       string
	}{
		{"no room", "(def max-players 1)", func(r *rig) { r.join(5) }, "could not create player session"},
		{"too many", "(def new-players-per-ip-per-min 1)", func(r *rig) { r.join(1) }, "too many new players"},
		{"brownout", "", func(r *rig) { r.step(&SetBrownout{Brownout: Brownout{NoNewSessions: true}}) }, "takes no new players"},
		{"read-only", "", func(r *rig) { r.step(&SetBrownout{Brownout: Brownout{ReadOnly: true}}) }, "read-only at present"},
		{"terms", `(def tos-text "be kind")`, nil, "ERROR 1001"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.conf)
			from := wamble.Peer{Addr: addrPort(peerAt(1), 99)}
			me := r.offered(from)
			if tc.prepare != nil {
				tc.prepare(r)
			}
			before := r.p.sessions.Len()
			r.sent = nil
			if got := r.send(from, legalPacket(me.Token, me.Board, 2, 12)); !strings.Contains(got, tc.want) {
				t.Errorf("answered by %s", got)
			}
			if tc.name != "terms" && r.p.sessions.Len() != before {
				t.Error("a refused player is left")
			}
		})
	}
}

// TestRepeatedHello: a copy of a hello gets the same offer, soon and later.
func TestRepeatedHello(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	me := r.offered(peerAt(1))
	for range 3 {
		if again := r.offered(peerAt(1)); again.Token != me.Token || again.Board != me.Board {
			t.Errorf("offered board %d, then board %d; same token %v", me.Board, again.Board, again.Token == me.Token)
		}
		r.wait(3 * time.Second)
	}
}
