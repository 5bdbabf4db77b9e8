package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// patience bounds waiting in tests; it is never the expected outcome.
const patience = 10 * time.Second

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
	go func() { served <- p.Serve(site) }()
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
			packets = append(packets, Packet{packet.Peer, bytes.Clone(packet.Data)})
		}
		ended = append(ended, in.Ended...)
	}
	return packets, ended
}

// packet is a valid one with n bytes of payload.
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
	udp.Write(Packets{{wamble.Peer{Addr: p.Addr()}, packet(t, 1, 5)}})
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
	// A number that only UDP has taken is no good either, and TCP is freed.
	u := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	if _, err := Listen(Options{Address: u.LocalAddr()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Listen beside UDP: %v, want %v", err, syscall.EADDRINUSE)
	}
	l, err := net.Listen("tcp", u.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	other := openPort(t, Options{Address: netip.MustParseAddrPort("127.0.0.1:0"), TCPPort: l.Addr().(*net.TCPAddr).AddrPort().Port()}, nil)
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
	// A wake-up hides nothing that has arrived.
	udp := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
	udp.Write(Packets{{wamble.Peer{Addr: p.Addr()}, packet(t, 1, 1)}})
	p.Wake()
	if got, _ := receive(t, p, 1, 0); len(got) != 1 {
		t.Errorf("%d packets, want 1", len(got))
	}
}

// Connections hand in far more than the inbox holds while the loop is slow:
// nothing is lost, reordered or refused, and a quiet connection is not locked
// out by a loud one.
func TestPortBackpressure(t *testing.T) {
	p := openPort(t, Options{}, nil)
	loud, quiet := dialTCPTest(t, p), dialPort(t, p)
	const n = 3 * inboxPackets
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(loud, handshakeRequest)
		for i := uint32(0); i < n && err == nil; i++ {
			_, err = loud.Write(appendFrame(nil, opBinary, packet(t, i, 1), &maskKey{}))
		}
		sent <- err
	}()
	quiet.Send(packet(t, 77, 1))
	next := map[wamble.Peer]uint32{}
	total, quietAt := 0, -1
	for total < n+1 {
		got, _ := receive(t, p, 1, 0)
		for _, packet := range got {
			seq := wireSeq(t, packet.Data)
			if seq == 77 && next[packet.Peer] != 77 {
				quietAt = total
			} else if seq != next[packet.Peer] {
				t.Fatalf("sequence %d, want %d", seq, next[packet.Peer])
			}
			next[packet.Peer] = seq + 1
			total++
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if quietAt < 0 || quietAt > n/2 {
		t.Errorf("the quiet connection was heard at %d of %d", quietAt, n)
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
	fmt.Fprintf(slow, handshakeRequest)
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
				p.Send(Packets{{from.Peer, big}})
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
		p.Send(Packets{{from.Peer, packet(t, 3, 1)}})
	}
	if b, err := good.Next(); err != nil || wireSeq(t, b) != 3 {
		t.Errorf("the other connection got % x, %v", b, err)
	}
	if s := p.Stats(); s.Overrun != 1 || s.Open != 1 {
		t.Errorf("%+v, want 1 overrun and 1 open", s)
	}
}

func TestPortShutdown(t *testing.T) {
	cases := []struct {
		name string
		code uint16
		want uint16 // close code at the client; 0: the stream just ends
	}{
		{"restart", CloseGoingAway, CloseGoingAway},
		{"stop", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := openPort(t, Options{}, nil)
			ws := dialPort(t, p)
			ws.Send(packet(t, 1, 1))
			got, _ := receive(t, p, 1, 0)
			p.Send(Packets{{got[0].Peer, packet(t, 5, 1)}})
			done := make(chan error)
			go func() { done <- p.Shutdown(context.Background(), c.code) }()
			var err error
			for err == nil {
				var b []byte
				if b, err = ws.Next(); err == nil && wireSeq(t, b) != 5 {
					t.Errorf("got % x", b)
				}
			}
			ws.Finish(err)
			var closed *CloseError
			if errors.As(err, &closed) != (c.want != 0) || (closed != nil && (closed.Code != c.want || !closed.Remote)) {
				t.Errorf("the client saw %v, want close code %d", err, c.want)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if p.Stats().Open != 0 {
				t.Errorf("%d connections are open", p.Stats().Open)
			}
			// UDP is not touched.
			udp := listenTestUDP(t, "127.0.0.1:0", UDPOptions{})
			udp.Write(Packets{{wamble.Peer{Addr: p.Addr()}, packet(t, 6, 1)}})
			receive(t, p, 1, 0)
		})
	}
}

// A client that ignores the close frame is cut when the context ends.
func TestPortShutdownCuts(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Timing: Timing{Linger: time.Hour}}}, nil)
	nc, err := net.Dial("tcp", p.TCPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprintf(nc, handshakeRequest)
	readHead(t, nc)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	p.Shutdown(ctx, CloseGoingAway)
	if p.Stats().Open != 0 {
		t.Error("the connection is still open")
	}
}

func TestPortDisconnect(t *testing.T) {
	p := openPort(t, Options{}, nil)
	ws := dialPort(t, p)
	ws.Send(packet(t, 1, 1))
	got, _ := receive(t, p, 1, 0)
	p.Disconnect(got[0].Peer, 1008, "enough")
	_, err := ws.Next()
	var closed *CloseError
	if !errors.As(err, &closed) || closed.Code != 1008 || closed.Reason != "enough" {
		t.Errorf("the client saw %v", err)
	}
	ws.Finish(err)
	if _, ended := receive(t, p, 0, 1); ended[0] != got[0].Peer {
		t.Errorf("ended %v, want %v", ended[0], got[0].Peer)
	}
	p.Disconnect(got[0].Peer, 1008, "again") // gone already: nothing happens
}

func TestPortAdopt(t *testing.T) {
	old, err := Listen(Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	udp, tcp := duplicate(t, old.UDP()), duplicate(t, old.TCP())
	address := old.Addr()
	old.Close()
	p, err := Adopt(udp, tcp, Options{})
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(nil)
	defer p.Close()
	if p.Addr() != address || p.TCPAddr() != address {
		t.Errorf("adopted %s and %s, want %s", p.Addr(), p.TCPAddr(), address)
	}
	ws := dialPort(t, p)
	ws.Send(packet(t, 1, 1))
	receive(t, p, 1, 0)

	udp, tcp = duplicate(t, p.UDP()), duplicate(t, p.UDP())
	if _, err := Adopt(udp, tcp, Options{}); err == nil {
		t.Error("a UDP socket was adopted as TCP")
	}
	udp, tcp = duplicate(t, p.TCP()), duplicate(t, p.TCP())
	if _, err := Adopt(udp, tcp, Options{}); err == nil {
		t.Error("a TCP listener was adopted as UDP")
	}
}

// A loop over packets of connections allocates nothing once it is warm.
func TestInboxAllocatesNothing(t *testing.T) {
	in := newInbox(func() {})
	from := &source{}
	data := packet(t, 1, 100)
	buffers := make([][]byte, 32)
	packets := make([]Packet, 0, 32)
	round := func() {
		for range 32 {
			in.put(from, data)
		}
		packets, _ = in.fetch(packets[:0], nil, buffers)
	}
	for range inboxPackets / 32 {
		round()
	}
	if got := testing.AllocsPerRun(100, round); got != 0 || len(packets) != 32 {
		t.Errorf("%v allocations for %d packets, want 0 for 32", got, len(packets))
	}
}

func TestOutbox(t *testing.T) {
	o := newOutbox()
	var l load
	small, big := packet(t, 1, 1), packet(t, 2, wire.MaxPayload)
	for _, p := range [][]byte{small, big, big, big, big, small} {
		if o.add(p) != nil {
			t.Fatal("no room")
		}
	}
	o.take(&l)
	var sizes []int
	for len(l.sizes) > 0 {
		sizes = append(sizes, len(l.message()))
	}
	want := fmt.Sprint([]int{35 + 3*1234, 1234 + 35})
	if got := fmt.Sprint(sizes); got != want {
		t.Errorf("messages of %s bytes, want %s", got, want)
	}
	n := 0
	for o.add(big) == nil {
		n++
	}
	if want := outboxBytes / len(big); n != want {
		t.Errorf("%d packets fit, want %d", n, want)
	}
	o.take(&l)
	if o.add(small) != nil {
		t.Error("no room after take")
	}
	o.end(CloseGoingAway, "first")
	o.end(CloseNormal, "second")
	if o.add(small) != net.ErrClosed {
		t.Error("a packet was added after the end")
	}
	o.take(&l)
	if !l.ending || l.code != CloseGoingAway || len(l.sizes) != 1 {
		t.Errorf("%+v: the first end counts, after the packets", l)
	}
}

const handshakeRequest = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

// readHead reads up to the empty line and not a byte further.
func readHead(t testing.TB, r io.Reader) string {
	t.Helper()
	var head []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatalf("after %q: %v", head, err)
		}
		head = append(head, one[0])
	}
	return string(head)
}

func readResponse(t testing.TB, r io.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}
