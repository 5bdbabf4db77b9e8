package transport

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
)

// dialFrom connects from an address of this machine, nil if the port refuses.
func dialFrom(t testing.TB, p *Port, address string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	nc, err := d.Dial("tcp", p.TCPAddr().String())
	if err != nil {
		return nil
	}
	nc.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { nc.Close() })
	return nc
}

// enters reports whether a connection from an address opens a WebSocket.
func enters(t testing.TB, p *Port, address string) bool {
	t.Helper()
	nc := dialFrom(t, p, address)
	if nc == nil {
		return false
	}
	io.WriteString(nc, handshakeRequest)
	head := make([]byte, 12)
	_, err := io.ReadFull(nc, head)
	return err == nil && strings.HasSuffix(string(head), "101")
}

// TestNewcomersGetIn: when a few hosts hold all places, others get in.
func TestNewcomersGetIn(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		if r.URL.Path == "/wait" {
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	for name, hold := range map[string]func(t *testing.T, p *Port, nc net.Conn){
		"nothing sent":   func(*testing.T, *Port, net.Conn) {},
		"half-sent head": func(_ *testing.T, _ *Port, nc net.Conn) { io.WriteString(nc, "GET /ws HTTP/1.1\r\nHost:") },
		"idle WebSocket": func(t *testing.T, _ *Port, nc net.Conn) {
			io.WriteString(nc, handshakeRequest)
			readHead(t, nc)
		},
		"busy WebSocket": func(t *testing.T, p *Port, nc net.Conn) {
			io.WriteString(nc, handshakeRequest)
			readHead(t, nc)
			nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
			receive(t, p, 1, 0)
		},
		"between requests": func(t *testing.T, _ *Port, nc net.Conn) {
			io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			readHead(t, nc)
		},
		"request in progress": func(t *testing.T, _ *Port, nc net.Conn) {
			io.WriteString(nc, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
			readHead(t, nc)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPort(t, Options{HTTP: HTTPOptions{Max: 8, MaxHost: 4}}, site)
			for i := range 8 {
				nc := dialFrom(t, p, fmt.Sprintf("127.0.1.%d", 1+i%2))
				if nc == nil {
					t.Fatalf("connection %d was refused", i)
				}
				hold(t, p, nc)
			}
			for i := range 4 {
				if !enters(t, p, fmt.Sprintf("127.0.2.%d", 1+i)) {
					t.Errorf("newcomer %d was refused", i)
				}
			}
			if n := p.Stats().Evicted; n == 0 {
				t.Error("nobody is counted who made room")
			}
		})
	}
}

// TestIdleGivesWay: a host at its limit gets another connection in place of an idle one.
func TestIdleGivesWay(t *testing.T) {
	p := openPort(t, Options{HTTP: HTTPOptions{MaxHost: 2}}, nil)
	busy := dialPort(t, p)
	busy.Send(packet(t, 1, 1))
	receive(t, p, 1, 0)
	slow := dialTCPTest(t, p)
	io.WriteString(slow, "GET /ws HTTP/1.1\r\nHost:")
	if !enters(t, p, "127.0.0.1") {
		t.Error("a half-sent head keeps others of its host out")
	}
	if _, err := io.ReadAll(slow); isTimeout(err) {
		t.Errorf("the half-sent head still has its place: %v", err)
	}
	busy.Send(packet(t, 2, 1))
	receive(t, p, 1, 0)
}

// TestFirstPacket: a WebSocket over which no packet comes ends in time, whatever other frames
// come; one over which a packet has come stays.
func TestFirstPacket(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Timing: Timing{First: 100 * time.Millisecond, Idle: time.Hour}}},
		nil)
	stays := dialPort(t, p)
	stays.Send(packet(t, 1, 1))
	receive(t, p, 1, 0)
	nc := dialTCPTest(t, p)
	io.WriteString(nc, handshakeRequest)
	readHead(t, nc)
	frames := newFrameReader(nc, false)
	for {
		nc.Write(appendFrame(appendFrame(nil, opPing, nil, &maskKey{1}), opBinary, nil, &maskKey{1}))
		_, _, err := frames.next()
		if isTimeout(err) {
			t.Fatal("the connection stays")
		}
		if err != nil {
			break
		}
	}
	receive(t, p, 0, 1)
	stays.Send(packet(t, 2, 1))
	receive(t, p, 1, 0)
}

// TestPlaces: after any sequence of connects and ends, limits hold, a host with nothing gets
// in, and the host with most loses its idlest connection first.
func TestPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newConnLimiter(12, 4, new(atomic.Uint64))
	held := map[*slot]netip.Addr{}
	of := func(host netip.Prefix) (n int) {
		for _, ip := range held {
			if wamble.HostOf(ip) == host {
				n++
			}
		}
		return n
	}
	for range 20000 {
		switch random.IntN(3) {
		case 0:
			for p := range held {
				p.release()
				delete(held, p)
				break
			}
		case 1:
			for p := range held {
				p.setUse(use(random.IntN(3)))
				break
			}
		}
		ip := netip.AddrFrom4([4]byte{10, 0, byte(random.IntN(2)), byte(random.IntN(10))})
		host, most := wamble.HostOf(ip), 0
		for _, other := range held {
			most = max(most, of(wamble.HostOf(other)))
		}
		before, full := of(host), len(held) == 12
		p := s.take(ip, false, func() {})
		if p == nil && before == 0 {
			t.Fatalf("%v holds nothing and was refused", ip)
		}
		for q, from := range held { // the connection that lost its place
			if q.index >= 0 {
				continue
			}
			delete(held, q)
			switch loser := wamble.HostOf(from); {
			case loser == host && !(before == 4 || full && before == most):
				t.Fatalf("%v lost one of %d to itself, and another holds %d", loser, before, most)
			case loser != host && (!full || of(loser)+1 != most):
				t.Fatalf("%v lost one of %d, and another holds %d", loser, of(loser)+1, most)
			}
			for r, other := range held {
				if wamble.HostOf(other) == wamble.HostOf(from) && r.use.Load() < q.use.Load() {
					t.Fatalf("%v lost a connection in use %d, and has one in use %d", from, q.use.Load(), r.use.Load())
				}
			}
		}
		if p != nil {
			held[p] = ip
		}
		if len(held) > 12 || len(held) != s.taken || of(host) > 4 {
			t.Fatalf("%d places are held, %d of them by %v; %d are counted", len(held), of(host), host, s.taken)
		}
	}
	for p := range held {
		p.release()
		p.release()
	}
	if s.taken+len(s.hosts)+len(s.networks)+len(s.levels) != 0 {
		t.Errorf("%+v after everybody left", s)
	}
}

// TestNetworksShare: between hosts that hold the same, the network that holds most
// loses.
func TestNetworksShare(t *testing.T) {
	s := newConnLimiter(4, 4, new(atomic.Uint64))
	for _, ip := range []string{"2001:db8::1", "2001:db8:0:100::1", "2001:db8:0:200::1", "192.0.2.1"} {
		s.take(netip.MustParseAddr(ip), false, func() {
			if !strings.HasPrefix(ip, "2001:db8:") {
				t.Errorf("%s lost its place", ip)
			}
		})
	}
	if s.take(netip.MustParseAddr("198.51.100.1"), false, nil) == nil || s.evicted.Load() != 1 {
		t.Errorf("%d connections were evicted, want 1", s.evicted.Load())
	}
}

func BenchmarkPlacesFull(b *testing.B) {
	s := newConnLimiter(4096, 128, new(atomic.Uint64))
	for i := range b.N + 4096 {
		s.take(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), false, func() {})
	}
}
