package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// patience bounds waiting in tests; it is never the expected outcome.
const patience = 2 * time.Minute

// openPort listens on loopback and serves until the test ends.
func openPort(t testing.TB, o Options, site http.Handler) *Port {
	t.Helper()
	if !o.Address.IsValid() {
		o.Address = netip.MustParseAddrPort("127.0.0.1:0")
	}
	p, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(site, nil) }()
	t.Cleanup(func() {
		p.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return p
}

// receive calls Receive until n packets and m ends have come.
func receive(t testing.TB, p *Port, n, m int) (packets []Packet, ended []wamble.Peer) {
	t.Helper()
	end := time.Now().Add(patience)
	for len(packets) < n || len(ended) < m {
		in, err := p.Receive(end)
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%d packets and %d ends came, want %d and %d", len(packets), len(ended), n, m)
		}
		for _, packet := range in.Packets {
			packets = append(packets, Packet{Peer: packet.Peer, Data: bytes.Clone(packet.Data)})
		}
		ended = append(ended, in.Ended...)
	}
	return packets, ended
}

// packet is a valid packet with n bytes of payload.
func packet(t testing.TB, seq uint32, n int) []byte {
	t.Helper()
	h := wire.Header{Ctrl: wire.CtrlServerNotification, Seq: seq}
	b, err := wire.Append(nil, h, wire.ServerNotification{Text: make(wire.Text, n-1)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func dialPort(t testing.TB, p *Port) *Conn {
	t.Helper()
	u := &url.URL{Scheme: "ws", Host: p.TCPAddr().String(), Path: "/ws"}
	c, err := DialWebSocket(t.Context(), u, nil, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Finish(net.ErrClosed) })
	return c
}

func TestPortSharesOneNumber(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "the site ", r.URL.Path) })
	p := openPort(t, Options{}, site)
	if p.Addr() != p.TCPAddr() {
		t.Fatalf("UDP on %s, TCP on %s", p.Addr(), p.TCPAddr())
	}
	resp, err := http.Get("http://" + p.TCPAddr().String() + "/index")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "the site /index" {
		t.Errorf("HTTP answers %q", body)
	}

	udp := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	udp.Write(Packets{{Peer: wamble.Peer{Addr: p.Addr()}, Data: packet(t, 1, 5)}})
	ws := dialPort(t, p)
	ws.Send(packet(t, 2, 5))
	got, _ := receive(t, p, 2, 0)
	streams := 0
	for _, packet := range got {
		if packet.Peer.Stream() {
			streams++
		}
		p.Send(Packets{packet})
	}
	if streams != 1 {
		t.Errorf("%d of 2 packets came over WebSocket, want 1", streams)
	}
	if echo := collect(t, udp, 1)[0].Data; !bytes.Equal(echo, packet(t, 1, 5)) {
		t.Errorf("UDP echo % x", echo)
	}
	if echo, err := ws.Next(); err != nil || !bytes.Equal(echo, packet(t, 2, 5)) {
		t.Errorf("WebSocket echo % x, %v", echo, err)
	}
}

func TestPortDualStack(t *testing.T) {
	p := openPort(t, Options{Address: netip.MustParseAddrPort("[::]:0")}, nil)
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		u := &url.URL{Scheme: "ws", Host: fmt.Sprintf("%s:%d", host, p.Addr().Port()), Path: "/ws"}
		c, err := DialWebSocket(t.Context(), u, nil, Timing{})
		if err != nil {
			t.Fatal(err)
		}
		c.Send(packet(t, 1, 1))
		got, _ := receive(t, p, 1, 0)
		if want := strings.Trim(host, "[]"); got[0].Peer.IP().String() != want {
			t.Errorf("peer %v, want %s", got[0].Peer, want)
		}
		c.Finish(net.ErrClosed)
	}
}

func TestPortTaken(t *testing.T) {
	p := openPort(t, Options{}, nil)
	if _, err := Listen(Options{Address: p.Addr()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second Listen: %v, want %v", err, syscall.EADDRINUSE)
	}
	// A port that only UDP has bound is not usable either, and TCP is freed. It is below
	// those that the kernel gives to clients, so that it stays free.
	var u *UDP
	for u == nil {
		number := netip.AddrPortFrom(p.Addr().Addr(), uint16(10000+rand.IntN(20000)))
		other, err := Listen(Options{Address: number})
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		other.Close()
		u = listenTestUDP(t, number.String(), UDPOptions{})
	}
	if _, err := Listen(Options{Address: u.LocalAddr()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Listen beside UDP: %v, want %v", err, syscall.EADDRINUSE)
	}
	other := openPort(t, Options{Address: netip.MustParseAddrPort("127.0.0.1:0"), TCPPort: u.LocalAddr().Port()}, nil)
	if other.TCPAddr().Port() != u.LocalAddr().Port() {
		t.Errorf("TCP on %d, want the number that was asked for", other.TCPAddr().Port())
	}
}

// Ends of connections come after their packets.
func TestPortTellsEnds(t *testing.T) {
	p := openPort(t, Options{}, nil)
	c := dialPort(t, p)
	for i := range uint32(300) {
		c.Send(packet(t, i, 1))
	}
	c.Close(CloseNormal, "")
	var count int
	end := time.Now().Add(patience)
	for ended := false; !ended; {
		in, err := p.Receive(end)
		if err != nil || time.Now().After(end) {
			t.Fatal("no end came", err)
		}
		for _, packet := range in.Packets {
			if got := wireSeq(t, packet.Data); got != uint32(count) {
				t.Fatalf("packet %d has sequence %d", count, got)
			}
			count++
		}
		ended = len(in.Ended) > 0
	}
	if count != 300 {
		t.Errorf("the end was told after %d packets, want 300", count)
	}
}

func wireSeq(t testing.TB, b []byte) uint32 {
	t.Helper()
	h, err := wire.Peek(b)
	if err != nil {
		t.Fatal(err)
	}
	return h.Seq
}

func TestPortWake(t *testing.T) {
	p := openPort(t, Options{}, nil)
	p.Wake() // before
	if in, err := p.Receive(time.Now().Add(patience)); err != nil || len(in.Packets) != 0 {
		t.Fatalf("%v, %v", in, err)
	}
	for range 200 { // during, at a random moment
		returned := make(chan error)
		go func() {
			_, err := p.Receive(time.Time{})
			returned <- err
		}()
		p.Wake()
		if err := <-returned; err != nil {
			t.Fatal(err)
		}
	}
	// A wake-up does not hide packets that have arrived.
	udp := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	udp.Write(Packets{{Peer: wamble.Peer{Addr: p.Addr()}, Data: packet(t, 1, 1)}})
	p.Wake()
	if got, _ := receive(t, p, 1, 0); len(got) != 1 {
		t.Errorf("%d packets, want 1", len(got))
	}
}

// Connections pass in far more than the inbox holds while the loop is slow: nothing is lost,
// reordered or refused, and a quiet connection is not locked out by a busy one, which sends
// until the quiet one was read.
func TestPortBackpressure(t *testing.T) {
	p := openPort(t, Options{}, nil)
	loud, quiet := dialTCPTest(t, p), dialPort(t, p)
	const least = 3 * inboxPackets
	var heard atomic.Bool
	var written atomic.Uint32
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(loud, handshakeRequest)
		end := time.Now().Add(patience)
		for i := uint32(0); err == nil && (i < least || !heard.Load() && time.Now().Before(end)); i++ {
			_, err = loud.Write(appendFrame(nil, opBinary, packet(t, i, 1), &maskKey{}))
			written.Store(i + 1)
		}
		sent <- err
	}()
	const mark = math.MaxUint32
	quiet.Send(packet(t, mark, 1))
	next := uint32(0)
	for next < least || !heard.Load() || next < written.Load() {
		got, _ := receive(t, p, 1, 0)
		for _, packet := range got {
			switch seq := wireSeq(t, packet.Data); seq {
			case mark:
				heard.Store(true)
			case next:
				next++
			default:
				t.Fatalf("sequence %d, want %d", seq, next)
			}
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// A connection that does not read is ended; others and the loop go on.
func TestPortSlowReader(t *testing.T) {
	p := openPort(t, Options{}, nil)
	slow, err := net.Dial("tcp", p.TCPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(slow, handshakeRequest)
	readHead(t, slow)
	slow.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{}))
	good := dialPort(t, p)
	good.Send(packet(t, 2, 1))
	got, _ := receive(t, p, 2, 0)
	big := packet(t, 9, wire.MaxPayload)
	var ended []wamble.Peer
	for range 20000 { // 24 MB: more than any buffer between
		for _, from := range got {
			if wireSeq(t, from.Data) == 1 {
				p.Send(Packets{{Peer: from.Peer, Data: big}})
			}
		}
		in, err := p.Receive(longAgo)
		if err != nil {
			t.Fatal(err)
		}
		if ended = append(ended, in.Ended...); len(ended) > 0 {
			break
		}
	}
	if len(ended) == 0 {
		_, ended = receive(t, p, 0, 1)
	}
	for _, from := range got {
		if slow := wireSeq(t, from.Data) == 1; slow != (from.Peer == ended[0]) {
			t.Errorf("ended %v; peer %v is the slow one: %v", ended[0], from.Peer, slow)
		}
		p.Send(Packets{{Peer: from.Peer, Data: packet(t, 3, 1)}})
	}
	if b, err := good.Next(); err != nil || wireSeq(t, b) != 3 {
		t.Errorf("the other connection got % x, %v", b, err)
	}
	if s := p.Stats(); s.Overrun != 1 || s.Open != 1 {
		t.Errorf("%+v, want 1 overrun and 1 open", s)
	}
}
