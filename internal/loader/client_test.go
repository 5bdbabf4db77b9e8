package loader

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// recorder keeps the sent packets.
type recorder struct{ sent [][]byte }

func (r *recorder) receive() ([]datagram, error) { return nil, nil }
func (r *recorder) send(_ uint32, packet []byte) { r.sent = append(r.sent, bytes.Clone(packet)) }
func (r *recorder) flush() error                 { return nil }
func (r *recorder) addresses() uint32            { return 1 << 20 }
func (r *recorder) dropped() uint64              { return 0 }
func (r *recorder) close()                       {}

// scene is one client of a server that the test plays.
type scene struct {
	*load
	t   *testing.T
	out recorder
	c   *client
}

var sceneToken = wamble.Token{7}

func newScene(t *testing.T, mode Mode) *scene {
	s := &scene{t: t}
	s.load = &load{
		options: Options{Mode: mode, Clients: 1, Wait: 100 * time.Millisecond}, sockets: &s.out,
		clients: make([]client, 1), random: rand.New(rand.NewPCG(1, 1)), report: &Report{log: &log{}},
	}
	s.c = &s.clients[0]
	s.hello(s.c)
	return s
}

// take returns what was sent since the last call, as text.
func (s *scene) take() string {
	var all []string
	for _, b := range s.out.sent {
		h, m, err := wire.Decode(b)
		if err != nil {
			s.t.Fatal(err)
		}
		text := fmt.Sprintf("%v %d", h.Ctrl, h.Seq)
		if pm, ok := m.(*wire.PlayerMove); ok {
			text += fmt.Sprintf(" %d %s", h.Board, pm.UCI)
		}
		all = append(all, text)
	}
	s.out.sent = nil
	return fmt.Sprint(all)
}

func (s *scene) want(want string) {
	s.t.Helper()
	if got := s.take(); got != want {
		s.t.Errorf("sent %s, want %s", got, want)
	}
}

func (s *scene) ack(seq uint32, token wamble.Token) {
	b, _ := wire.Append(nil, wire.Header{Seq: seq, Token: token}, wire.Ack{})
	s.receive(s.c, s.c.number, b)
}

func tell[M wire.Message](s *scene, seq uint32, board wamble.BoardID, m M, ext ...wire.Field) {
	s.t.Helper()
	b, err := wire.Append(nil, wire.Header{Seq: seq, Board: board, Token: sceneToken}, m, ext...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.receive(s.c, s.c.number, b)
}

// oneMove is a position with one legal move, so that a test can predict the move.
const oneMove = "k7/8/8/8/8/7p/7P/7K w - - 0 9"

func (s *scene) update(seq uint32, board wamble.BoardID) {
	s.t.Helper()
	tell(s, seq, board, wire.BoardUpdate{FEN: wire.Text(wire.ShortFEN(oneMove))},
		wire.String(wire.KeyBoardFEN, oneMove))
}

func (s *scene) greet(board wamble.BoardID) {
	s.t.Helper()
	tell(s, 1, board, wire.ServerHello{FEN: wire.Text(wire.ShortFEN(oneMove))}, wire.String(wire.KeyBoardFEN, oneMove))
}

// rejected refuses the move with a request number: the client says hello.
func (s *scene) rejected(seq uint32) {
	s.t.Helper()
	s.out.sent = nil
	s.ack(seq, sceneToken)
	tell(s, seq, 0, wire.Error{Code: wamble.MoveRejected}) // with a number that rises, too
	s.want(fmt.Sprintf("[ACK %d CLIENT_HELLO %d]", seq, seq+1))
	s.ack(seq+1, sceneToken)
}

// seated returns a client that has sent its first move, on board 5.
func seated(t *testing.T) *scene {
	s := newScene(t, Moves)
	s.want("[CLIENT_HELLO 1]")
	s.ack(1, wamble.Token{})
	s.greet(5)
	s.want(fmt.Sprintf("[ACK 1 PLAYER_MOVE 2 5 %s]", only))
	return s
}

var only = func() string {
	p, err := chess.ParseFEN(oneMove)
	if err != nil {
		panic(err)
	}
	moves := p.LegalMoves(nil)
	if len(moves) != 1 {
		panic(moves)
	}
	return moves[0].String()
}()

func (s *scene) accepted(want int) {
	s.t.Helper()
	if got := s.report.AcceptedCount(); got != want {
		s.t.Errorf("%d moves accepted, want %d", got, want)
	}
}

func TestMoveIsAccepted(t *testing.T) {
	s := seated(t)
	s.ack(2, sceneToken)
	s.accepted(0)
	s.update(1, 6)
	s.accepted(1)
	s.want(fmt.Sprintf("[ACK 1 PLAYER_MOVE 3 6 %s]", only))
	want := Accepted{Token: sceneToken, Board: 5, Ply: 17, UCI: only}
	for e := range s.report.log.entries() {
		if got := s.report.log.accepted(e); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	for _, tc := range []struct {
		name string
		tell func(s *scene)
		sent string
		seen func(Counts) uint64
	}{
		{"update before its ACK", func(s *scene) { s.update(1, 6) }, "[ACK 1]", func(c Counts) uint64 { return c.Pushed }},
		{"ACK of another request", func(s *scene) { s.ack(1, sceneToken); s.update(1, 6) }, "[ACK 1]", func(c Counts) uint64 { return c.Pushed }},
		{"ACK with another token", func(s *scene) { s.ack(2, wamble.Token{8}); s.update(1, 6) }, "[ACK 1]", func(c Counts) uint64 { return c.Pushed }},
		{"old update", func(s *scene) {
			s.c.seen.last = 9
			s.ack(2, sceneToken)
			s.update(9, 6)
		}, "[ACK 9]", func(c Counts) uint64 { return c.Duplicates }},
		{"answer to another request", func(s *scene) {
			s.ack(2, sceneToken)
			tell(s, 1, 6, wire.BoardUpdate{FEN: wire.Text(wire.ShortFEN(oneMove))}, wire.Int(wire.KeyRequestSeq, 1))
		}, "[ACK 1]", func(c Counts) uint64 { return c.Duplicates }},
		{"refusal of another request", func(s *scene) {
			s.ack(2, sceneToken)
			tell(s, 1, 0, wire.Error{Code: wamble.MoveRejected}, wire.Int(wire.KeyRequestSeq, 1))
		}, "[ACK 1]", func(c Counts) uint64 { return c.Duplicates }},
		{"hello again", func(s *scene) { s.ack(2, sceneToken); s.greet(5) }, "[ACK 1]", func(Counts) uint64 { return 1 }},
		{"refusal without ACK", func(s *scene) {
			b, _ := wire.Append(nil, wire.Header{Flags: wire.FlagUnreliable, Token: sceneToken},
				wire.Error{Code: wamble.Internal})
			s.receive(s.c, s.c.number, b)
		}, "[]", func(c Counts) uint64 { return c.Refused }},
		{"junk", func(s *scene) { s.receive(s.c, s.c.number, []byte("junk")) }, "[]", func(c Counts) uint64 { return c.Malformed }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := seated(t)
			tc.tell(s)
			s.accepted(0)
			s.want(tc.sent)
			if got := tc.seen(s.report.Counts); got != 1 {
				t.Errorf("counted %d times, want 1: %+v", got, s.report.Counts)
			}
			if s.c.stage != asking || !s.c.pending.open {
				t.Errorf("the move is no longer under way: %+v", s.c)
			}
		})
	}
}

// A request is sent again, byte by byte the same, at regular intervals; then the client says
// hello with its token and sends the same move as a new request.
func TestSentAgain(t *testing.T) {
	s := seated(t)
	move := fmt.Sprintf("PLAYER_MOVE 2 5 %s", only)
	var waits []time.Duration
	for range maxSends - 1 {
		before := s.c.request.due - s.now
		waits = append(waits, before)
		s.now = s.c.request.due - 1
		s.due()
		s.want("[]")
		s.now++
		s.due()
		s.want("[" + move + "]")
	}
	if got, want := fmt.Sprint(waits), "[100ms 150ms 150ms 150ms 150ms 150ms 150ms]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
	s.now = s.c.request.due
	s.due()
	s.want("[CLIENT_HELLO 3]")
	if c := s.report.Counts; c.Resent != maxSends-1 || c.Timeouts != 1 {
		t.Errorf("%+v", c)
	}
	s.ack(3, sceneToken)
	s.greet(6) // the move was kept, and the player has another board
	s.want(fmt.Sprintf("[ACK 1 PLAYER_MOVE 4 5 %s]", only))
	s.ack(4, sceneToken)
	s.update(1, 6)
	s.accepted(1)
	if c := s.report.Counts; c.Resumed != 1 || c.Moved != 0 || c.Forgotten != 0 {
		t.Errorf("%+v", c)
	}
}

// After the ACK of a request that was sent again the next repetition is soon: a restarted
// server holds the answer back until the address has proven itself.
func TestAnswerHeldBack(t *testing.T) {
	s := seated(t)
	s.ack(2, sceneToken)
	if got := s.c.request.due; got != 100*time.Millisecond {
		t.Errorf("due at %v, want 100ms: it was sent once", got)
	}
	s = seated(t)
	s.now = s.c.request.due
	s.due()
	s.take()
	s.ack(2, sceneToken)
	s.now += 25 * time.Millisecond
	s.due()
	s.want(fmt.Sprintf("[PLAYER_MOVE 2 5 %s]", only))
}

// Clients of Hello go from address to address, and acknowledge at each what comes
// there; the addresses of two never meet.
func TestHelloMovesOn(t *testing.T) {
	s := newScene(t, Hello)
	s.take()
	s.ack(1, wamble.Token{})
	s.greet(5)
	s.want("[ACK 1 CLIENT_HELLO 2]")
	if s.c.number != 1 || s.c.known {
		t.Errorf("%+v: it did not move on", s.c)
	}
	b, _ := wire.Append(nil, wire.Header{Seq: 1, Token: sceneToken}, wire.ServerHello{})
	s.receive(s.c, 0, b)
	s.want("[ACK 1]")
	if s.report.Counts.Duplicates != 1 || s.c.stage != greeting {
		t.Errorf("%+v", s.report.Counts)
	}
	s.clients = make([]client, 3)
	for i := range uint32(3) {
		last := s.sockets.addresses()/3*3 - 3 + i
		if got := s.another(last); got != i {
			t.Errorf("after %d comes %d, want %d: the same client's first", last, got, i)
		}
	}
}

// A restarted server counts from 1 again: its packets are accepted.
func TestRestartedServerIsHeard(t *testing.T) {
	s := seated(t)
	for seq := uint32(1); seq <= 40; seq++ {
		s.ack(seq+1, sceneToken)
		s.update(seq, 6)
	}
	s.accepted(40)
	s.take()
	s.ack(42, sceneToken)
	s.now = s.c.request.due
	s.due()
	s.update(1, 6) // an old copy
	s.accepted(40)
	s.update(1, 7) // the new server's first
	s.accepted(41)
}

// An address that is sent only part of the FEN says hello again, once.
func TestShortFEN(t *testing.T) {
	s := newScene(t, Moves)
	s.take()
	s.ack(1, wamble.Token{})
	tell(s, 1, 5, wire.ServerHello{FEN: wire.Text(wire.ShortFEN(oneMove))})
	s.want("[ACK 1 CLIENT_HELLO 2]")
	s.ack(2, sceneToken)
	tell(s, 1, 5, wire.ServerHello{FEN: wire.Text(wire.ShortFEN(oneMove))})
	s.want(fmt.Sprintf("[ACK 1 PLAYER_MOVE 3 5 %s]", only))
	s.ack(3, sceneToken)
	s.update(1, 6)
	for e := range s.report.log.entries() {
		if got := s.report.log.accepted(e); got.Ply != 0 || got.UCI != only {
			t.Errorf("%+v: its ply is not known", got)
		}
	}
	s.accepted(1)
}

// A client that resumes and is shown another board without having moved has lost
// its own.
func TestMovedIsSeen(t *testing.T) {
	s := seated(t)
	s.ack(2, sceneToken)
	s.update(1, 6)
	s.want(fmt.Sprintf("[ACK 1 PLAYER_MOVE 3 6 %s]", only))
	s.rejected(3)
	s.greet(8)
	if c := s.report.Counts; c.Moved != 1 || c.Rejected != 1 {
		t.Errorf("%+v", c)
	}
}

// Another player may have moved on a board that was only offered: a client that gets another
// one instead has lost none.
func TestOfferedIsNotMoved(t *testing.T) {
	s := seated(t)
	s.rejected(2)
	s.greet(8)
	if c := s.report.Counts; c.Moved != 0 || c.Rejected != 1 || c.Resumed != 1 {
		t.Errorf("%+v", c)
	}
	s.rejected(4)
	s.greet(9)
	if c := s.report.Counts; c.Moved != 1 || c.Rejected != 2 {
		t.Errorf("after a board that was held: %+v", c)
	}
}

// A hello that is answered with another token means that ours is forgotten.
func TestForgottenIsSeen(t *testing.T) {
	s := seated(t)
	s.c.token = wamble.Token{9}
	s.hello(s.c)
	s.ack(3, wamble.Token{9})
	s.greet(8)
	if c := s.report.Counts; c.Forgotten != 1 || len(s.report.Unresolved()) != 1 || len(s.report.log.tokens) != 2 {
		t.Errorf("%+v, %d unresolved, %d tokens", c, len(s.report.Unresolved()), len(s.report.log.tokens))
	}
}

// A move that was asked under two numbers is answered twice. The second answer,
// sent again after the next move was asked, shows the board before that move.
func TestSecondAnswerIsLate(t *testing.T) {
	s := seated(t)
	s.hello(s.c) // the server is slow, and the move is asked again
	s.ack(3, sceneToken)
	s.greet(5)
	s.ack(4, sceneToken)
	answer := func(seq uint32, board wamble.BoardID, to int64) {
		tell(s, seq, board, wire.BoardUpdate{FEN: wire.Text(wire.ShortFEN(oneMove))},
			wire.String(wire.KeyBoardFEN, oneMove), wire.Int(wire.KeyRequestSeq, to))
	}
	answer(1, 6, 2) // to the first number, which is no longer pending
	s.accepted(0)
	answer(2, 6, 4)
	s.accepted(1)
	s.ack(5, sceneToken)
	answer(2, 6, 4) // sent again
	s.accepted(1)
	answer(3, 7, 5)
	s.accepted(2)
	if s.c.holds.board != 7 {
		t.Errorf("it sits at board %d, want 7", s.c.holds.board)
	}
}

// A position without a move is asked about again later.
func TestNoMove(t *testing.T) {
	s := seated(t)
	s.ack(2, sceneToken)
	const mate = "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"
	tell(s, 1, 6, wire.BoardUpdate{FEN: wire.Text(wire.ShortFEN(mate))}, wire.String(wire.KeyBoardFEN, mate))
	s.accepted(1)
	s.want("[ACK 1]")
	s.now += s.options.Wait
	s.due()
	s.want("[CLIENT_HELLO 3]")
}

// A move in, its answer out: no allocation but that of the list of moves.
func TestAllocsMove(t *testing.T) {
	s := seated(t)
	s.load.sockets = silent{}
	seq := uint32(1)
	update, _ := wire.Append(nil, wire.Header{Board: 6, Token: sceneToken},
		wire.BoardUpdate{FEN: wire.Text(wire.ShortFEN(oneMove))}, wire.String(wire.KeyBoardFEN, oneMove))
	ack, _ := wire.Append(nil, wire.Header{Token: sceneToken}, wire.Ack{})
	move := func() {
		wire.SetSeq(ack, seq+1)
		wire.SetSeq(update, seq)
		s.receive(s.c, s.c.number, ack)
		s.receive(s.c, s.c.number, update)
		seq++
	}
	move() // makes the first block of the log
	if got := testing.AllocsPerRun(1000, move); got != 0 {
		t.Errorf("%v allocations for a move, want 0", got)
	}
	s.accepted(1002)
}

// silent sends nothing.
type silent struct{ *recorder }

func (silent) send(uint32, []byte) {}

// No input makes the loader panic.
func FuzzReceive(f *testing.F) {
	hello, _ := wire.Append(nil, wire.Header{Seq: 1, Board: 5, Token: sceneToken},
		wire.ServerHello{FEN: wire.Text("8/8 w")}, wire.String(wire.KeyBoardFEN, oneMove))
	update, _ := wire.Append(nil, wire.Header{Seq: 1, Board: 5, Token: sceneToken},
		wire.BoardUpdate{FEN: wire.Text("8/8 w")}, wire.String(wire.KeyBoardFEN, "8/8/8/8 w"))
	refusal, _ := wire.Append(nil, wire.Header{Seq: 2, Token: sceneToken}, wire.Error{Code: wamble.MoveRejected})
	f.Add(hello)
	f.Add(update)
	f.Add(refusal)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, mode := range []Mode{Moves, Hello, Legal} {
			s := newScene(t, mode)
			s.load.sockets = silent{&s.out}
			s.c.request.acked = true
			s.receive(s.c, s.c.number, b)
			s.c.request.acked = true
			s.receive(s.c, s.c.number, b)
			s.now += time.Hour
			s.due()
			if s.report.AcceptedCount() > 1 {
				t.Error("one packet was taken for two answers")
			}
		}
	})
}
