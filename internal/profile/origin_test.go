package profile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

// stock is a client library of the original, of March to August 2026, with its exact behaviour: it sends no key
// that the original lacks, and its decoder refuses a packet with more than 8 extension fields.
type stock struct {
	*everybody
	at   wamble.Peer
	join wire.Reassembler
	most int // fields of a packet so far
}

// fieldsOf returns the number of fields in the trailer of a payload, 0 without one.
func fieldsOf(payload []byte) int {
	end := len(payload) - 4
	if end < 2 || payload[end] != 'W' || payload[end+1] != 'X' {
		return 0
	}
	body := int(binary.BigEndian.Uint16(payload[end+2:]))
	if body < 2 || body > end || payload[end-body] != 1 {
		return 0
	}
	return int(payload[end-body+1])
}

// decode reads a packet, and reports false if it is incomplete.
func (c *stock) decode(packet []byte) (p wire.Packet, ok bool) {
	c.t.Helper()
	payload := packet[wire.HeaderSize:]
	if err := p.Decode(packet); err != nil {
		c.t.Fatal(err)
	}
	if f, fragment := p.Message.(*wire.Fragment); fragment {
		var err error
		if payload, err = c.join.Add(p.Ctrl, f); err != nil {
			c.t.Fatal(err)
		}
		if payload == nil {
			return p, false
		}
		if err := p.DecodePayload(p.Header, payload); err != nil {
			c.t.Fatal(err)
		}
	}
	n := fieldsOf(payload)
	c.most = max(c.most, n)
	if n > 8 {
		c.t.Errorf("%v has %d fields: %v", p.Ctrl, n, p.Ext)
	}
	return p, true
}

// ask sends a request, reads every answer and acknowledges it.
func (c *stock) ask(packet []byte) (answers []wire.Packet) {
	c.t.Helper()
	c.step(&Packet{Peer: c.at, Data: packet})
	c.settle()
	c.answerLoads()
	for len(c.sent) > 0 {
		b := bytes.Clone(c.sent[0].packet)
		c.sent = c.sent[1:]
		p, whole := c.decode(b)
		if !p.Flags.Unreliable() && p.Ctrl != wire.CtrlAck {
			c.step(&Packet{Peer: c.at,
				Data: encode(wire.Header{Token: p.Token, Board: p.Board, Seq: p.Seq}, wire.Ack{})})
		}
		if whole {
			answers = append(answers, p)
		}
	}
	return answers
}

// newStock returns a client of a profile with predictions, terms and a WebSocket, which has been given a token.
func newStock(t *testing.T, at wamble.Peer) *stock {
	t.Helper()
	c, err := config.Load("test.conf", profilesConf+`(def prediction-mode "streak") (def boards-per-player 1)
		(policy-allow "id:500" "trust.tier" "*" 3)`, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.options = Options{Config: c.Profile("own"), Seed: [32]byte{4}, Now: epoch, LeaseSize: 100}
	r.p = New(r.options)
	r.boot()
	for id := wamble.SessionID(500); id < 504; id++ {
		r.store.sessions[id] = &wamble.Session{ID: id, Token: hashOf(wamble.Token{byte(id)}), LastSeen: epoch}
	}
	s := &stock{everybody: &everybody{rig: r, seq: 1, by: standardSigner(3), seen: map[wire.Control][]wire.Control{}},
		at: at}
	for _, p := range s.ask(helloPacket(wamble.Token{}, 1)) {
		if p.Ctrl == wire.CtrlServerHello {
			s.token, s.board = p.Token, p.Board
		}
	}
	if s.token.IsZero() {
		t.Fatal("no SERVER_HELLO")
	}
	return s
}

// next sends a request under the next number.
func (c *stock) next(packet func(e *everybody) []byte) []wire.Packet {
	c.t.Helper()
	c.seq++
	answers := c.ask(packet(c.everybody))
	for i := range answers {
		switch m := answers[i].Message.(type) {
		case *wire.BoardUpdate:
			c.board = answers[i].Board
		case *wire.LoginChallenge:
			c.challenge = m.Challenge
		}
	}
	return answers
}

// TestOldDecoder: a client that has not sent a key of ours reads every answer and every push with a decoder that
// refuses more than 8 fields, over UDP and over WebSocket; it loses the number of its request and its own move
// first.
func TestOldDecoder(t *testing.T) {
	connection := peerAt(1)
	connection.Route = 7
	for name, at := range map[string]wamble.Peer{"UDP": peerAt(1), "WebSocket": connection} {
		t.Run(name, func(t *testing.T) {
			c := newStock(t, at)
			for _, row := range everyRequest[:len(everyRequest)-2] {
				c.next(row.packet)
				if row.ctrl == wire.CtrlPlayerMove { // on the board that they hold, until it is theirs again
					c.moves(t)
				}
			}
			c.next(func(e *everybody) []byte { return ranksPacket(e.token, e.seq, 1, 1) })
			if c.most != 8 {
				t.Errorf("at most %d fields in a packet, want 8", c.most)
			}
			board := c.p.boards.Held(c.p.sessions.Find(c.token).ID()).ID()
			for _, p := range c.nextPush(&Archive{Board: board}) {
				if p.Ctrl == wire.CtrlBoardUpdate {
					return
				}
			}
			t.Error("no board was pushed")
		})
	}
}

// moves makes moves until an answer shows a board with a last move.
func (c *stock) moves(t *testing.T) {
	for range 4 {
		for _, p := range c.next(func(e *everybody) []byte {
			b := e.p.boards.Held(e.p.sessions.Find(e.token).ID())
			position := b.Position()
			return movePacket(e.token, b.ID(), e.seq, position.LegalMoves(nil)[0].String())
		}) {
			if p.Ctrl != wire.CtrlBoardUpdate {
				continue
			}
			if _, shown := p.Ext.Int(wire.KeyLastMoveTo); shown {
				if _, whole := p.Ext.Text(wire.KeyBoardFEN); !whole {
					t.Errorf("BOARD_UPDATE lacks what there was room for: %v", p.Ext)
				}
				return
			}
		}
	}
	t.Error("no BOARD_UPDATE has shown a last move")
}

// nextPush runs a step, and returns what the client reads of it.
func (c *stock) nextPush(in Input) (pushed []wire.Packet) {
	c.t.Helper()
	c.step(in)
	c.settle()
	for len(c.sent) > 0 {
		if p, whole := c.decode(bytes.Clone(c.sent[0].packet)); whole {
			pushed = append(pushed, p)
		}
		c.sent = c.sent[1:]
	}
	return pushed
}

// TestOldClientThinks: a client of the original over a WebSocket shows no signs of life while its player thinks,
// but acknowledges what it gets, or not even that. Its player keeps the board for inactivity-timeout.
func TestOldClientThinks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		acks    bool
		silence time.Duration
	}{
		{"acknowledges", true, 70 * time.Second},
		{"never acknowledges", false, 70 * time.Second},
		{"thinks for long", true, 299 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 1) (def max-boards 2)")
			me, _ := wire.Peek(r.reply(streamAt(1), helloPacket(wamble.Token{}, 0)))
			if tc.acks {
				r.send(streamAt(1), encode(wire.Header{Token: me.Token, Board: me.Board, Seq: me.Seq}, wire.Ack{}))
			}
			r.wait(tc.silence)
			r.join(2)
			got := r.send(streamAt(1), movePacket(me.Token, me.Board, 1, "e2e4"))
			if !strings.HasPrefix(got, "ACK 1\nBOARD_UPDATE") || r.p.boards.Board(me.Board).Plies() != 1 {
				t.Errorf("after %v the move is answered by %s", tc.silence, got)
			}
		})
	}
}

// TestOldSpectator: a spectator over a WebSocket who only acknowledges is a spectator after session-timeout, too.
func TestOldSpectator(t *testing.T) {
	r := newRig(t, "(def min-boards 2) (def session-timeout 60)")
	token, board := r.join(2)
	r.send(peerAt(2), movePacket(token, board, 2, "e2e4"))
	me, _ := wire.Peek(r.reply(streamAt(1), helloPacket(wamble.Token{}, 0)))
	r.send(streamAt(1), encode(wire.Header{Token: me.Token, Seq: 1}, wire.SpectateGame{}))
	updates := 0
	for range 40 {
		r.sent = nil
		r.wait(10 * time.Second)
		sent := r.sent
		updates = 0
		for _, s := range sent {
			h, _ := wire.Peek(s.packet)
			if s.to != streamAt(1) || h.Ctrl != wire.CtrlSpectateUpdate {
				continue
			}
			if updates++; !h.Flags.Unreliable() {
				r.step(&Packet{Peer: streamAt(1),
					Data: encode(wire.Header{Token: h.Token, Board: h.Board, Seq: h.Seq}, wire.Ack{})})
			}
		}
	}
	if updates == 0 {
		t.Error("after 400 s they see nothing")
	}
}

// library is the sender of the original's client library, with its exact behaviour on UDP: it never acknowledges,
// sends a request four times at most, and reads one datagram for each copy: one that is not the ACK it waits for is
// thrown away, and ends the wait.
type library struct {
	*rig
	at    wamble.Peer
	inbox [][]byte
}

// pass lets time pass, and collects what arrives.
func (l *library) pass(d time.Duration) {
	l.wait(d)
	l.collect()
}

func (l *library) collect() {
	for _, s := range l.sent {
		if s.to == l.at {
			l.inbox = append(l.inbox, bytes.Clone(s.packet))
		}
	}
	l.sent = nil
}

// recv reads one datagram, for which it waits for so long at most; nil if none comes.
func (l *library) recv(wait time.Duration) []byte {
	for began := l.now; len(l.inbox) == 0 && l.now.Sub(began) < wait; {
		l.pass(10 * time.Millisecond)
	}
	if len(l.inbox) == 0 {
		return nil
	}
	b := l.inbox[0]
	l.inbox = l.inbox[1:]
	return b
}

// request sends a request, and reports whether it was acknowledged.
func (l *library) request(packet []byte) bool {
	asked, _ := wire.Peek(packet)
	for i := range 4 {
		l.step(&Packet{Peer: l.at, Data: packet})
		l.settle()
		l.answerLoads()
		l.collect()
		b := l.recv(500 * time.Millisecond << i)
		if h, _ := wire.Peek(b); b != nil && h.Ctrl == wire.CtrlAck && h.Seq == asked.Seq && h.Token == asked.Token {
			return true
		}
	}
	return false
}

// answer reads until a packet that is no ACK comes, for five seconds at most.
func (l *library) answer() (h wire.Header, ok bool) {
	for range 100 {
		b := l.recv(5 * time.Second)
		if b == nil {
			break
		}
		if h, _ = wire.Peek(b); h.Ctrl != wire.CtrlAck {
			return h, true
		}
	}
	return wire.Header{}, false
}

// TestACKWithItsAnswer: every kind of request, with an unknown and with the zero token, from an address that has
// proven nothing, at a server of 20 profiles: an ACK is followed by an answer, if the request has one.
func TestACKWithItsAnswer(t *testing.T) {
	conf := `(def reservation-timeout 60) (def boards-per-player 1)`
	for i := range 20 {
		conf += fmt.Sprintf(` (defprofile profile-%04d ((def port %d) (def advertise 1) (def tos-text "%s")))`, i,
			2000+i, strings.Repeat("be kind ", 300))
	}
	c, err := config.Load("test.conf", conf, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range everyRequest {
		for name, token := range map[string]wamble.Token{"unknown token": {9, 9}, "zero token": {}} {
			t.Run(row.ctrl.String()+" "+name, func(t *testing.T) {
				r := &rig{t: t, now: epoch, store: newMemory()}
				r.options = Options{Config: c.Profile("profile-0007"), Seed: [32]byte{4}, Now: epoch, LeaseSize: 100}
				r.p = New(r.options)
				r.boot()
				l := &library{rig: r, at: peerAt(1)}
				e := &everybody{rig: r, token: token, board: 1, seq: 7, by: standardSigner(3)}
				acked := l.request(row.packet(e))
				h, answered := l.answer()
				info, _ := row.ctrl.Info()
				switch wants := !token.IsZero() || info.ZeroToken; {
				case acked != wants:
					t.Errorf("acknowledged: %t, want %t", acked, wants)
				case answered != (wants && len(info.Replies) > 0):
					t.Errorf("answered: %t, by %v", answered, h.Ctrl)
				}
			})
		}
	}
}

// TestLibraryAtFullPace: the original's client library, which never acknowledges, makes a move each 20 ms; no copy of
// an earlier answer comes between a request and its ACK.
func TestLibraryAtFullPace(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	l := &library{rig: r, at: peerAt(1)}
	if !l.request(helloPacket(wamble.Token{}, 1)) {
		t.Fatal("hello is not acknowledged")
	}
	me, ok := l.answer()
	if !ok || me.Ctrl != wire.CtrlServerHello {
		t.Fatalf("hello is answered by %v", me.Ctrl)
	}
	const moves = 300
	failed, board := 0, me.Board
	for i := range uint32(moves) {
		l.pass(20 * time.Millisecond)
		position := r.p.boards.Board(board).Position()
		acked := l.request(movePacket(me.Token, board, 2+i, position.LegalMoves(nil)[0].String()))
		if h, ok := l.answer(); acked && ok && h.Ctrl == wire.CtrlBoardUpdate {
			board = h.Board
		} else {
			failed++
			l.pass(5 * time.Second)
			l.inbox = nil
			board = r.p.boards.Held(r.p.sessions.Find(me.Token).ID()).ID()
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d moves failed", failed, moves)
	}
}

// TestACKOfHelloWithOldToken: the ACK of a SERVER_HELLO makes the session, also if the hello had a token that nobody
// knows.
func TestACKOfHelloWithOldToken(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(wamble.Token{9, 9}, 1)})
	r.settle()
	r.answerLoads()
	me, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
	if me.Ctrl != wire.CtrlServerHello || me.Token == (wamble.Token{9, 9}) {
		t.Fatalf("got %s", r.took())
	}
	r.sent = nil
	r.send(peerAt(1), encode(wire.Header{Token: me.Token, Board: me.Board, Seq: me.Seq}, wire.Ack{}))
	s := r.p.sessions.Find(me.Token)
	if s == nil || r.p.boards.Held(s.ID()) == nil || r.p.boards.Held(s.ID()).ID() != me.Board {
		t.Errorf("session %v after the ACK", s)
	}
}

// TestBlockingIsTheEnd: an ERROR that is followed by a board is not blocking.
func TestBlockingIsTheEnd(t *testing.T) {
	r := newRig(t, "(def min-boards 2) (def max-boards 4)")
	token, board := r.join(1)
	r.wait(6 * time.Minute) // they hold no board any more, and another player gets theirs
	r.join(2)
	r.sent = nil
	r.step(&Packet{Peer: peerAt(1), Data: movePacket(token, 77, 2, "e2e4")})
	r.settle()
	r.answerLoads()
	if got := r.took(); !strings.Contains(got, `ERROR 1008 "unknown board"`) ||
		!strings.Contains(got, "BOARD_UPDATE") || strings.Contains(got, wire.KeyErrorBlocking) {
		t.Errorf("after board %d: %s", board, got)
	}
	if got := r.send(peerAt(1), legalPacket(token, 77, 3, 12)); !strings.Contains(got, wire.KeyErrorBlocking) ||
		strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("no board follows: %s", got)
	}
}

// TestNoRepeatsAfterKick: a player whose session the host has ended gets no copies of earlier packets.
func TestNoRepeatsAfterKick(t *testing.T) {
	for name, command := range map[string]func(Target) Input{
		"kick": func(whom Target) Input { return &Kick{Whom: whom} },
		"ban":  func(whom Target) Input { return &Ban{Whom: whom} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2)")
			token, board := r.join(1)
			r.send(peerAt(1), movePacket(token, board, 2, "e2e4")) // its answer is not acknowledged
			r.send(peerAt(1), legalPacket(token, board, 3, 12))
			r.step(command(Target{Token: hashOf(token)}))
			r.settle()
			expect(t, r.took(), "SERVER_NOTIFICATION 6")
			r.wait(10 * time.Second)
			expect(t, r.took(), "")
		})
	}
}
