package transport

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

// TestRenew: a port that is set up anew keeps the sockets whose addresses stay, and the
// packets in them; the others are bound.
func TestRenew(t *testing.T) {
	loopback := netip.MustParseAddrPort("127.0.0.1:0")
	a, err := Listen(Options{Address: loopback})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Listen(Options{Address: loopback})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		udp, tcp *Port
	}{
		{"both stay", a, a}, {"from two ports", b, a}, {"all new", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.udp != nil { // it waits in the socket of the old port
				say(t, tc.udp.Addr(), packet(t, 1, 1))
			}
			p, err := only(RenewShards(tc.udp, tc.tcp, Options{Address: loopback}, 1))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if tc.udp != nil && p.Addr() != tc.udp.Addr() || tc.tcp != nil && p.TCPAddr() != tc.tcp.TCPAddr() {
				t.Errorf("got %v and %v", p.Addr(), p.TCPAddr())
			}
			if tc.udp == nil {
				say(t, p.Addr(), packet(t, 1, 1))
			}
			if got, _ := receive(t, p, 1, 0); len(got) != 1 {
				t.Errorf("got %d packets", len(got))
			}
		})
	}
	last, err := only(RenewShards(a, b, Options{Address: loopback}, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	a.Close()
	b.Close()
	go last.Serve(nil, nil)
	ws := dialPort(t, last)
	ws.Send(packet(t, 1, 1))
	receive(t, last, 1, 0)
	if _, err := only(RenewShards(a, nil, Options{Address: loopback}, 1)); err == nil {
		t.Error("a closed port was renewed")
	}
}

// TestRenewHalf: one of the sockets stays, the other is bound to its port number.
func TestRenewHalf(t *testing.T) {
	loopback := netip.MustParseAddrPort("127.0.0.1:0")
	for _, tc := range []struct {
		name  string
		close func(*Port) error
		renew func(*Port) (*Port, error)
	}{
		{"HTTP is bound", func(p *Port) error { return p.TCP().Close() },
			func(p *Port) (*Port, error) { return only(RenewShards(p, nil, Options{Address: loopback}, 1)) }},
		{"the game is bound", func(p *Port) error { return p.UDP().Close() },
			func(p *Port) (*Port, error) { return only(RenewShards(nil, p, Options{Address: loopback}, 1)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for { // until no other process has taken the number meanwhile
				old, err := Listen(Options{Address: loopback})
				if err != nil {
					t.Fatal(err)
				}
				if err := tc.close(old); err != nil {
					t.Fatal(err)
				}
				p, err := tc.renew(old)
				old.Close()
				if errors.Is(err, syscall.EADDRINUSE) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				if p.Addr() != p.TCPAddr() {
					t.Errorf("got %v and %v, want one number", p.Addr(), p.TCPAddr())
				}
				return
			}
		})
	}
}

func say(t *testing.T, to netip.AddrPort, data []byte) {
	t.Helper()
	c, err := net.Dial("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(data); err != nil {
		t.Fatal(err)
	}
}
