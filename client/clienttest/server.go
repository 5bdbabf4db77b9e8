package clienttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/transport"
	"wamble/wire"
)

// StartFEN is the position in the server's hellos.
const StartFEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w"

// Server is a server in the process of a test.
type Server struct {
	port   *transport.Port
	link   *link.Endpoint
	faults *faults
	epoch  time.Time
	served chan error

	closed sync.Once

	// Only the loop uses the fields below.
	sessions map[wamble.Token]wamble.BoardID
	streams  map[wamble.Peer]bool
	made     uint64 // number of sessions so far

	mu     sync.Mutex // guards script to record
	script []*Step
	tasks  []func()
	record record
}

// record is what a server records for the test.
type record struct {
	received []wire.Header
	acked    int
	problems []error
	result   error // result of Close
}

// NewServer starts a server that ends with the test. Deviations from the script fail the test.
func NewServer(t testing.TB, script ...*Step) *Server {
	t.Helper()
	s, err := Start(script...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Start starts a server outside of a test, as in an example. Close returns the deviations from
// the script.
func Start(script ...*Step) (*Server, error) {
	port, err := transport.Listen(transport.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		return nil, fmt.Errorf("start the test server: %w", err)
	}
	s := &Server{
		port: port, faults: newFaults(), epoch: time.Now(), served: make(chan error, 2),
		sessions: map[wamble.Token]wamble.BoardID{}, streams: map[wamble.Peer]bool{}, script: script,
	}
	s.newLink()
	go func() { s.served <- port.Serve(nil, nil) }()
	go func() { s.served <- s.loop() }()
	return s, nil
}

func (s *Server) newLink() { s.link = link.NewEndpoint(link.Config{}) }

// UDP returns the server's UDP address for client.Dial.
func (s *Server) UDP() string { return "udp://" + s.port.Addr().String() }

// WebSocket returns the server's WebSocket address for client.Dial.
func (s *Server) WebSocket() string { return "ws://" + s.port.TCPAddr().String() + "/ws" }

// Close ends the server and returns all deviations from the script. A second Close returns the
// same.
func (s *Server) Close() error {
	s.closed.Do(func() {
		s.port.Close()
		err := errors.Join(<-s.served, <-s.served)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, step := range s.script {
			s.record.problems = append(s.record.problems, fmt.Errorf("%v never came", step.ctrl))
		}
		s.record.result = errors.Join(append(s.record.problems, err)...)
	})
	return s.record.result
}

// Script adds steps to the script.
func (s *Server) Script(steps ...*Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Received returns the headers of the requests that were executed, in order.
func (s *Server) Received() []wire.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]wire.Header(nil), s.record.received...)
}

// Delivered returns how many packets clients have acknowledged over UDP.
func (s *Server) Delivered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.acked
}

// Push sends a packet that is not an answer to every address of a session: unreliably if
// h.Flags says so.
func (s *Server) Push(token wamble.Token, h wire.Header, m wire.Message, ext ...wire.Field) {
	s.inLoop(func() {
		h.Token = token
		packet, err := wire.Append(nil, h, m, ext...)
		if err != nil {
			s.problem(fmt.Errorf("push: %w", err))
			return
		}
		if s.link.Push(token, packet, 0) == 0 {
			s.problem(errors.New("push: the session has no address"))
		}
	})
}

// inLoop runs f in the server's loop.
func (s *Server) inLoop(f func()) {
	s.mu.Lock()
	s.tasks = append(s.tasks, f)
	s.mu.Unlock()
	s.port.Wake()
}

func (s *Server) runTasks() {
	s.mu.Lock()
	tasks := s.tasks
	s.tasks = nil
	s.mu.Unlock()
	for _, f := range tasks {
		f()
	}
}

func (s *Server) problem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.problems = append(s.record.problems, err)
}

// loop runs the server in one goroutine.
func (s *Server) loop() error {
	for {
		var until time.Time
		if next, ok := s.link.Next(); ok {
			until = s.epoch.Add(next)
		}
		in, err := s.port.Receive(until)
		if err != nil {
			return nil // closed
		}
		now := time.Since(s.epoch)
		s.runTasks() // before the packets: a task that a test adds before a request takes effect before it
		for _, p := range in.Packets {
			if p.Peer.Stream() {
				s.streams[p.Peer] = true
			}
			if s.faults.arrives(p.Data) {
				s.receive(now, p)
			}
		}
		for _, peer := range in.Ended {
			delete(s.streams, peer)
			s.link.Forget(peer)
		}
		s.link.Release(now, 0, s.faults)
		s.link.Due(now, s.faults)
		if out := s.faults.take(); len(out) > 0 {
			s.port.Send(out)
		}
	}
}

// receive handles one packet.
func (s *Server) receive(now time.Duration, p transport.Packet) {
	r := s.link.Receive(now, p.Peer, p.Data, s.faults)
	if r.Verdict == link.Delivered {
		s.mu.Lock()
		s.record.acked++
		s.mu.Unlock()
	}
	if r.Verdict != link.New {
		return
	}
	step := s.next(r.Packet)
	if step != nil && step.ignore {
		s.link.Abandon(r.Request)
		return
	}
	s.mu.Lock()
	s.record.received = append(s.record.received, r.Packet.Header)
	s.mu.Unlock()
	answers := []answer{}
	switch {
	case step != nil:
		answers = step.answers
	case r.Packet.Ctrl == wire.CtrlClientHello:
		answers = s.hello(r.Packet.Header)
	}
	for _, a := range answers {
		if a.header.Token.IsZero() {
			a.header.Token = r.Packet.Token
		}
		if err := link.Answer(s.link, r.Request, a.header, a.message, a.ext...); err != nil {
			s.problem(fmt.Errorf("answer %v: %w", r.Packet.Ctrl, err))
		}
	}
	s.link.Vouch(r.Request)
	s.link.Finish(r.Request, 0)
	if step != nil && step.then != nil {
		s.inLoop(step.then)
	}
}

// next returns the step for a request, nil for a hello or goodbye that the script does not
// have.
func (s *Server) next(p *wire.Packet) *Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	optional := p.Ctrl == wire.CtrlClientHello || p.Ctrl == wire.CtrlClientGoodbye
	if optional && (len(s.script) == 0 || s.script[0].ctrl != p.Ctrl) {
		return nil
	}
	if len(s.script) == 0 {
		s.record.problems = append(s.record.problems, fmt.Errorf("%v came, the script is at its end", p.Ctrl))
		return Expect(p.Ctrl).Deny(wamble.Internal, "not in the script")
	}
	step := s.script[0]
	if err := step.fits(p); err != nil {
		s.record.problems = append(s.record.problems, err)
		return Expect(p.Ctrl).Deny(wamble.Internal, "not in the script")
	}
	s.script = s.script[1:]
	return step
}

// hello returns the board of a known session, or a new session. Boards and tokens are numbered
// from 1.
func (s *Server) hello(h wire.Header) []answer {
	board, ok := s.sessions[h.Token]
	if !ok {
		s.made++
		h.Token = SessionToken(int(s.made))
		board = wamble.BoardID(s.made)
		s.sessions[h.Token] = board
	}
	return []answer{{
		header:  wire.Header{Token: h.Token, Board: board, Flags: h.Flags.Negotiate()},
		message: wire.ServerHello{FEN: wire.Text(StartFEN)},
		ext:     []wire.Field{wire.Int(wire.KeySessionCaps, 0x3ff)},
	}}
}

// SessionToken returns the token of the nth session that the server creates, from 1.
func SessionToken(n int) wamble.Token {
	var t wamble.Token
	copy(t[:], "session-")
	binary.BigEndian.PutUint64(t[8:], uint64(n))
	return t
}
