//go:build proof && linux

package server

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// switchboard forwards players to whichever machine answers them, like an address that moves
// from machine to machine. It counts the answers of each. An answer from another address than
// was asked fails the test, and is dropped, as clients do.
type switchboard struct {
	t     testing.TB
	front *net.UDPConn
	site  *site // where its sockets for machines are
	to    []netip.AddrPort
	said  []atomic.Int64
	backs map[netip.AddrPort][]*net.UDPConn // a socket for each machine, by player

	strayed sync.Once
	readers sync.WaitGroup
}

func newSwitchboard(t testing.TB, site *site, at netip.AddrPort, to ...netip.AddrPort) *switchboard {
	t.Helper()
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	s := &switchboard{t: t, front: front, site: site, to: to, said: make([]atomic.Int64, len(to)),
		backs: map[netip.AddrPort][]*net.UDPConn{}}
	var running sync.WaitGroup
	running.Go(s.run)
	t.Cleanup(func() {
		front.Close()
		running.Wait()
		for _, backs := range s.backs {
			for _, b := range backs {
				b.Close()
			}
		}
		s.readers.Wait()
	})
	return s
}

func (s *switchboard) address() string { return "udp://" + s.front.LocalAddr().String() }

func (s *switchboard) run() {
	b := make([]byte, 65536)
	for {
		n, from, err := s.front.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		for i, back := range s.backsOf(from) {
			back.WriteToUDPAddrPort(b[:n], s.to[i])
		}
	}
}

func (s *switchboard) backsOf(player netip.AddrPort) []*net.UDPConn {
	if backs, ok := s.backs[player]; ok {
		return backs
	}
	var backs []*net.UDPConn
	for i := range s.to {
		c, err := s.site.listen()
		if err != nil {
			break
		}
		backs = append(backs, c)
		s.readers.Go(func() {
			b := make([]byte, 65536)
			for {
				n, from, err := c.ReadFromUDPAddrPort(b)
				if err != nil {
					return
				}
				if from != s.to[i] {
					s.strayed.Do(func() { s.t.Errorf("%v was asked, and the answer came from %v", s.to[i], from) })
					continue
				}
				s.said[i].Add(1)
				s.front.WriteToUDPAddrPort(b[:n], player)
			}
		})
	}
	s.backs[player] = backs
	return backs
}
