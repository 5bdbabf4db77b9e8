package loader

import (
	"context"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/link"
	"wamble/internal/store"
	"wamble/internal/transport"
	"wamble/wire"
)

// fake is a server with boards, and a store at the same time. It keeps what it accepts at
// once, loses packets at a set rate, and can crash and come back.
type fake struct {
	udp   *transport.UDP
	epoch time.Time
	out   link.Batch
	gate  uint64

	mu      sync.Mutex // guards what follows
	link    *link.Endpoint
	random  *rand.Rand
	boards  []*fakeBoard
	players map[wamble.Token]*fakePlayer
	faults  faults
	moves   int
	errors  map[wamble.Code]int // refusals by code
	begun   bool                // the measured time of the run
	since   progress            // then
	events  []event
}

// progress is what a server has done since the measured time of a run began.
type progress struct {
	moves, answers int
	missed         int // packets that came while it was down
}

// event is something to do once, when the server has come to a certain point.
type event struct {
	when func(progress) bool
	do   func()
}

// faults are the injected faults.
type faults struct {
	lossIn, lossOut float64 // shares of packets
	dead            bool    // nothing is read or answered
	short           bool    // an old server: neither the whole FEN nor the request is in its answers
	refuse          wamble.Code
	refusals        int  // how many requests are refused with that code
	die             bool // with its next move kept and the answer unsent
	reviveAfter     int  // packets that a crashed server misses before it is back; 0: it stays down
	forget          bool
}

type fakeBoard struct {
	wamble.Board
	position chess.Position
	holder   *fakePlayer
}

type fakePlayer struct {
	session wamble.Session
	token   wamble.Token
	board   *fakeBoard
	last    wamble.Move
	lastOn  wamble.BoardID
}

func startFake(t testing.TB, f faults) *fake {
	t.Helper()
	udp, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"), transport.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &fake{udp: udp, epoch: time.Now(), random: rand.New(rand.NewPCG(7, 7)), faults: f,
		errors: map[wamble.Code]int{}}
	s.players = map[wamble.Token]*fakePlayer{}
	s.link = link.NewEndpoint(link.Config{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s.step() {
		}
	}()
	t.Cleanup(func() {
		udp.Close()
		<-ended
	})
	return s
}

// options are those of a run that ends with its context.
func (s *fake) options(mode Mode, clients int) Options {
	return Options{
		Server: s.udp.LocalAddr(), Mode: mode, Clients: clients, Wait: 250 * time.Millisecond,
		Duration: time.Hour, Greet: time.Minute, Drain: time.Minute,
		ServerCPU: s.begin,
	}
}

// begin is called when the measured time of a run begins, and when it ends.
func (s *fake) begin() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun, s.since = true, progress{}
	}
	return 0
}

// when does something once, as soon as a condition holds after a step. Both are
// called with the server stopped.
func (s *fake) when(holds func(progress) bool, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{holds, do})
}

// happen runs the events that are due.
func (s *fake) happen() {
	s.events = slices.DeleteFunc(s.events, func(e event) bool {
		if !s.begun || !e.when(s.since) {
			return false
		}
		e.do()
		return true
	})
}

// until returns a context that ends when a condition holds, so that a test does
// not depend on how much is done in a given time.
func (s *fake) until(t testing.TB, holds func(progress) bool) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s.when(holds, cancel)
	return ctx
}

// played returns how many moves the server has kept.
func (s *fake) played() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moves
}

// miss counts packets to a crashed server. When it is back, what it kept is there, its
// connections are not.
func (s *fake) miss(packets int) {
	f := &s.faults
	s.since.missed += packets
	if f.reviveAfter == 0 {
		return
	}
	if f.reviveAfter -= packets; f.reviveAfter <= 0 {
		s.link, f.dead, f.reviveAfter = link.NewEndpoint(link.Config{}), false, 0
	}
}

// step serves one batch, and reports false at the end.
func (s *fake) step() bool {
	packets, err := s.udp.Read(time.Now().Add(5 * time.Millisecond))
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.happen()
	if s.faults.dead {
		s.miss(len(packets))
		return true
	}
	now := time.Since(s.epoch)
	s.gate++
	for _, p := range packets {
		if s.random.Float64() < s.faults.lossIn {
			continue
		}
		if r := s.link.Receive(now, p.Peer, p.Data, &s.out); r.Verdict == link.New {
			s.handle(r)
			s.link.Finish(r.Request, s.gate)
			s.since.answers++
		}
	}
	s.link.Release(now, s.gate, &s.out)
	s.link.Due(now, &s.out)
	if !s.faults.dead { // it crashed in this step: its answer is lost
		s.udp.Write(&lossy{&s.out, s.random, s.faults.lossOut})
	}
	s.out.Reset()
	return true
}

// lossy drops packets.
type lossy struct {
	*link.Batch
	random *rand.Rand
	loss   float64
}

func (l *lossy) At(i int) (wamble.Peer, []byte) {
	to, b := l.Batch.At(i)
	if l.random.Float64() < l.loss {
		b = []byte{0} // too short to be a packet
	}
	return to, b
}

func (s *fake) handle(r *link.Received) {
	h := r.Packet.Header
	if s.faults.refusals > 0 && h.Ctrl != wire.CtrlClientHello {
		s.faults.refusals--
		s.deny(r, s.faults.refuse)
		return
	}
	pl := s.players[h.Token]
	if h.Ctrl == wire.CtrlClientHello {
		s.hello(r, pl)
		return
	}
	if pl == nil || s.faults.forget {
		s.faults.forget = false
		delete(s.players, h.Token)
		s.deny(r, wamble.UnknownPlayer)
		return
	}
	s.link.Vouch(r.Request)
	switch m := r.Packet.Message.(type) {
	case *wire.PlayerMove:
		s.move(r, pl, m.UCI.String())
	case *wire.GetLegalMoves:
		var rows []wire.LegalMove
		for _, m := range pl.board.position.LegalFrom(nil, chess.Square(m.Square)) {
			rows = append(rows, wire.LegalMove{From: uint8(m.From()), To: uint8(m.To())})
		}
		link.Answer(s.link, r.Request, wire.Header{Token: h.Token, Board: h.Board},
			wire.LegalMoves{Square: m.Square, Moves: rows})
	}
}

func (s *fake) deny(r *link.Received, code wamble.Code) {
	s.errors[code]++
	link.Answer(s.link, r.Request, wire.Header{Token: r.Packet.Token}, wire.Error{Code: code}, nameOf(r))
}

func (s *fake) hello(r *link.Received, pl *fakePlayer) {
	if pl == nil {
		pl = s.players[r.Granted]
	}
	if pl == nil {
		pl = &fakePlayer{session: wamble.Session{ID: wamble.SessionID(len(s.players) + 1)}}
		binary.BigEndian.PutUint64(pl.token[:], s.random.Uint64())
		s.players[pl.token] = pl
		s.seat(pl, nil)
	}
	h := wire.Header{Token: pl.token, Board: pl.board.ID}
	fen, ext := s.show(pl.board)
	link.Answer(s.link, r.Request, h, wire.ServerHello{FEN: fen}, ext...)
}

func (s *fake) show(b *fakeBoard) (wire.Text, []wire.Field) {
	fen := b.position.FEN()
	if s.faults.short {
		return wire.Text(wire.ShortFEN(fen)), nil
	}
	return wire.Text(wire.ShortFEN(fen)), []wire.Field{wire.String(wire.KeyBoardFEN, fen)}
}

// nameOf names the request in its answer.
func nameOf(r *link.Received) wire.Field { return wire.Int(wire.KeyRequestSeq, int64(r.Packet.Seq)) }

// seat gives a player a free board that is not the one they left.
func (s *fake) seat(pl *fakePlayer, left *fakeBoard) {
	for range 8 {
		if len(s.boards) > 0 {
			if b := s.boards[s.random.IntN(len(s.boards))]; b.holder == nil && b != left && b.Result == nil {
				b.holder, pl.board = pl, b
				return
			}
		}
	}
	b := &fakeBoard{position: chess.Start(), holder: pl}
	b.ID = wamble.BoardID(len(s.boards) + 1)
	s.boards = append(s.boards, b)
	pl.board = b
}

func (s *fake) move(r *link.Received, pl *fakePlayer, uci string) {
	id := r.Packet.Board
	b := pl.board
	m, err := b.position.ParseUCI(uci)
	switch {
	case b.ID == id && err == nil:
		b.Moves = append(b.Moves, wamble.Move{Ply: b.position.Ply() + 1, UCI: uci, Session: pl.session.ID})
		pl.last, pl.lastOn = b.Moves[len(b.Moves)-1], id
		b.position = b.position.Play(m)
		if b.position.CountLegal() == 0 {
			b.Result = &wamble.GameResult{}
		}
		b.holder = nil
		s.seat(pl, b)
		s.moves++
		s.since.moves++
		if s.faults.die {
			s.faults.dead, s.faults.die = true, false
		}
	case pl.lastOn == id && pl.last.UCI == uci: // asked again
	default:
		s.deny(r, wamble.MoveRejected)
		return
	}
	fen, ext := s.show(pl.board)
	if !s.faults.short {
		ext = append(ext, nameOf(r))
	}
	link.Answer(s.link, r.Request, wire.Header{Token: pl.token, Board: pl.board.ID}, wire.BoardUpdate{FEN: fen}, ext...)
}

// Session and Games make the fake a store.
func (s *fake) Session(_ context.Context, t wamble.Token) (wamble.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pl := s.players[t]; pl != nil {
		return pl.session, nil
	}
	return wamble.Session{}, store.ErrNotFound
}

func (s *fake) Games(context.Context, wamble.GameFilter) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, b := range s.boards {
			copied := b.Board
			copied.Moves = slices.Clone(b.Moves)
			if !yield(copied, nil) {
				return
			}
		}
	}
}
