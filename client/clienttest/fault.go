package clienttest

import (
	"bytes"
	"sync"

	"wamble"
	"wamble/internal/transport"
	"wamble/wire"
)

// faults decide about each packet that comes in or goes out. Delayed packets are
// overtaken by later ones, as over a network; nothing waits for a clock.
type faults struct {
	mu     sync.Mutex
	lose   map[wire.Control]int // incoming
	drop   map[wire.Control]int // outgoing
	double map[wire.Control]int
	hold   map[wire.Control]bool
	held   map[wire.Control][]transport.Packet
	out    transport.Packets // what is to be sent now
}

func newFaults() *faults {
	return &faults{
		lose: map[wire.Control]int{}, drop: map[wire.Control]int{}, double: map[wire.Control]int{},
		hold: map[wire.Control]bool{}, held: map[wire.Control][]transport.Packet{},
	}
}

// spend takes one of n, and reports whether there was one.
func spend(n map[wire.Control]int, c wire.Control) bool {
	if n[c] == 0 {
		return false
	}
	n[c]--
	return true
}

// arrives reports whether an incoming packet gets through.
func (f *faults) arrives(b []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, err := wire.Peek(b)
	return err != nil || !spend(f.lose, h.Ctrl)
}

// Send takes an outgoing packet: it is the link's Sink.
func (f *faults) Send(to wamble.Peer, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, err := wire.Peek(b)
	if err != nil {
		return
	}
	p := transport.Packet{Peer: to, Data: bytes.Clone(b)}
	switch {
	case spend(f.drop, h.Ctrl):
	case f.hold[h.Ctrl]:
		f.held[h.Ctrl] = append(f.held[h.Ctrl], p)
	case spend(f.double, h.Ctrl):
		f.out = append(f.out, p, p)
	default:
		f.out = append(f.out, p)
	}
}

// take returns what is to be sent now.
func (f *faults) take() transport.Packets {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.out
	f.out = nil
	return out
}

// Lose loses the next n packets of a control code from clients.
func (s *Server) Lose(c wire.Control, n int) { s.faults.set(s.faults.lose, c, n) }

// Drop loses the next n packets of a control code to clients, copies included.
func (s *Server) Drop(c wire.Control, n int) { s.faults.set(s.faults.drop, c, n) }

// Double sends the next n packets of a control code to clients twice.
func (s *Server) Double(c wire.Control, n int) { s.faults.set(s.faults.double, c, n) }

func (f *faults) set(m map[wire.Control]int, c wire.Control, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m[c] = n
}

// Hold keeps packets of a control code to clients back, until the returned
// function lets them go: a delay of any length, in which others overtake them.
func (s *Server) Hold(c wire.Control) (release func()) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.hold[c] = true
	return func() {
		s.faults.mu.Lock()
		s.faults.hold[c] = false
		s.faults.out = append(s.faults.out, s.faults.held[c]...)
		delete(s.faults.held, c)
		s.faults.mu.Unlock()
		s.port.Wake()
	}
}

// Disconnect closes all WebSocket connections with a close code:
// transport.CloseGoingAway (1001) says that the server restarts.
func (s *Server) Disconnect(code uint16) {
	s.inLoop(func() {
		for peer := range s.streams {
			s.port.Disconnect(peer, code, "")
		}
	})
}

// Forget makes the server forget all addresses and, if sessions is set, all
// sessions: what a client sees of a server that was restarted.
func (s *Server) Forget(sessions bool) {
	s.inLoop(func() {
		s.newLink()
		if sessions {
			clear(s.sessions)
		}
	})
}
