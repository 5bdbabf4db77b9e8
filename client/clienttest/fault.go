package clienttest

import (
	"bytes"
	"sync"

	"wamble"
	"wamble/internal/transport"
	"wamble/wire"
)

// faults decides the fate of each incoming and outgoing packet. Later packets overtake held
// ones, as in a network; nothing depends on a clock.
type faults struct {
	mu     sync.Mutex
	lose   map[wire.Control]int // incoming
	drop   map[wire.Control]int // outgoing
	double map[wire.Control]int
	hold   map[wire.Control]bool
	held   map[wire.Control][]transport.Packet
	out    transport.Packets // packets to be sent now
}

func newFaults() *faults {
	return &faults{
		lose: map[wire.Control]int{}, drop: map[wire.Control]int{}, double: map[wire.Control]int{},
		hold: map[wire.Control]bool{}, held: map[wire.Control][]transport.Packet{},
	}
}

// spend takes one of n[c], and reports whether there was one.
func spend(n map[wire.Control]int, c wire.Control) bool {
	if n[c] == 0 {
		return false
	}
	n[c]--
	return true
}

// arrives reports whether an incoming packet is delivered.
func (f *faults) arrives(b []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, err := wire.Peek(b)
	return err != nil || !spend(f.lose, h.Ctrl)
}

// Send takes an outgoing packet: faults is the link's Sink.
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

// take returns the packets to be sent now.
func (f *faults) take() transport.Packets {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.out
	f.out = nil
	return out
}

// Lose drops the next n packets of a control code from clients.
func (s *Server) Lose(c wire.Control, n int) { s.faults.set(s.faults.lose, c, n) }

// Drop drops the next n packets of a control code to clients, including copies.
func (s *Server) Drop(c wire.Control, n int) { s.faults.set(s.faults.drop, c, n) }

// Double sends the next n packets of a control code to clients twice.
func (s *Server) Double(c wire.Control, n int) { s.faults.set(s.faults.double, c, n) }

func (f *faults) set(m map[wire.Control]int, c wire.Control, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m[c] = n
}

// Hold keeps back packets of a control code to clients until the returned function releases
// them; later packets overtake them.
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

// Disconnect closes all WebSocket connections with a close code: transport.CloseGoingAway
// (1001) means that the server restarts.
func (s *Server) Disconnect(code uint16) {
	s.inLoop(func() {
		for peer := range s.streams {
			s.port.Disconnect(peer, code, "")
		}
	})
}

// Forget makes the server forget all addresses and, if sessions is set, all sessions, like a
// restarted server.
func (s *Server) Forget(sessions bool) {
	s.inLoop(func() {
		s.newLink()
		if sessions {
			clear(s.sessions)
		}
	})
}
