package loader

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"wamble/wire"
)

// separate has a socket and a goroutine for each client; it works on all systems.
type separate struct {
	conns []*net.UDPConn
	arrivals
}

// arrivals are the datagrams that goroutines have read for the loop.
type arrivals struct {
	timer *time.Timer
	ready chan struct{} // holds a signal when datagrams have arrived
	lost  atomic.Uint64

	mu      sync.Mutex // guards arrived
	arrived []datagram
	taken   []datagram // result of the last receive; its buffers are reused
	buffers sync.Pool
	readers sync.WaitGroup
}

// maxArrived bounds the datagrams that wait for the loop.
const maxArrived = 1 << 16

func (s *arrivals) open() {
	s.ready, s.timer = make(chan struct{}, 1), time.NewTimer(tick)
	s.buffers.New = func() any { return new([wire.MaxPacket]byte) }
}

func openSeparate(server netip.AddrPort, clients int) (*separate, error) {
	s := &separate{}
	s.open()
	for i := range clients {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(server))
		if err != nil {
			s.close()
			return nil, fmt.Errorf("socket %d of %d: %w", i+1, clients, err)
		}
		s.conns = append(s.conns, conn)
		s.readers.Add(1)
		go s.read(uint32(i), conn)
	}
	return s, nil
}

// read queues the datagrams of one socket. The kernel's refusals, which it reports while the
// server is away, are ignored.
func (s *separate) read(number uint32, conn *net.UDPConn) {
	defer s.readers.Done()
	for {
		b := s.buffers.Get().(*[wire.MaxPacket]byte)
		n, err := conn.Read(b[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.buffers.Put(b)
			continue
		}
		s.put(datagram{number, b[:n]})
	}
}

func (s *arrivals) put(d datagram) {
	s.mu.Lock()
	full := len(s.arrived) >= maxArrived
	if !full {
		s.arrived = append(s.arrived, d)
	}
	s.mu.Unlock()
	if full {
		s.lost.Add(1)
	}
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *arrivals) receive() ([]datagram, error) {
	for _, d := range s.taken {
		s.buffers.Put((*[wire.MaxPacket]byte)(d.data[:wire.MaxPacket]))
	}
	s.taken = s.taken[:0]
	s.timer.Reset(tick)
	select {
	case <-s.ready:
	case <-s.timer.C:
	}
	s.mu.Lock()
	s.arrived, s.taken = s.taken, s.arrived
	s.mu.Unlock()
	return s.taken, nil
}

// send writes at once: a system call cannot send on several sockets.
func (s *separate) send(number uint32, packet []byte) {
	s.conns[number].Write(packet)
}

func (s *arrivals) flush() error { return nil }

func (s *separate) addresses() uint32 { return uint32(len(s.conns)) }

func (s *arrivals) dropped() uint64 { return s.lost.Load() }

func (s *separate) close() {
	for _, c := range s.conns {
		c.Close()
	}
	s.readers.Wait()
}
