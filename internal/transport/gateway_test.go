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
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wamble"
	"wamble/wire"
)

// request is the handshake with some headers replaced; an empty value leaves
// one out.
func request(line string, change map[string]string) string {
	headers := []struct{ name, value string }{
		{"Host", "example.org"}, {"Upgrade", "websocket"}, {"Connection", "Upgrade"},
		{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, {"Sec-WebSocket-Version", "13"}, {"Origin", ""},
	}
	var b strings.Builder
	b.WriteString(line + "\r\n")
	for _, h := range headers {
		value, ok := change[h.name]
		if !ok {
			value = h.value
		}
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", h.name, value)
		}
	}
	return b.String() + "\r\n"
}

func dialTCPTest(t testing.TB, p *Port) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", p.TCPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { nc.Close() })
	return nc
}

func TestHandshake(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Origins: []string{"https://friend.example"}}}, nil)
	const get = "GET /ws HTTP/1.1"
	set := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	cases := []struct {
		name, line string
		change     map[string]string
		status     int
		body       string
	}{
		{"plain", get, nil, 101, ""},
		{"query", "GET /ws?x=1 HTTP/1.1", nil, 101, ""},
		{"HTTP/1.0", "GET /ws HTTP/1.0", nil, 101, ""},
		{"lists and case", get, set("Upgrade", "WebSocket", "Connection", "keep-alive, UPGRADE"), 101, ""},
		{"own origin", get, set("Origin", "http://example.org"), 101, ""},
		{"own origin, other case", get, set("Origin", "https://EXAMPLE.org"), 101, ""},
		{"allowed origin", get, set("Origin", "https://friend.example"), 101, ""},
		{"POST", "POST /ws HTTP/1.1", nil, 405, "GET required"},
		{"other path", "GET /other HTTP/1.1", nil, 404, "not found"},
		{"path below", "GET /ws/ HTTP/1.1", nil, 404, "not found"},
		{"POST elsewhere", "POST /other HTTP/1.1", nil, 405, "GET required"},
		{"no Upgrade", get, set("Upgrade", ""), 400, "missing websocket headers"},
		{"no Connection", get, set("Connection", ""), 400, "missing websocket headers"},
		{"no key", get, set("Sec-WebSocket-Key", ""), 400, "missing websocket headers"},
		{"no version", get, set("Sec-WebSocket-Version", ""), 400, "missing websocket headers"},
		{"version before Upgrade", get, set("Sec-WebSocket-Version", "8", "Upgrade", "h2c"), 426, ""},
		{"other Upgrade", get, set("Upgrade", "h2c"), 400, "invalid websocket headers"},
		{"Connection without upgrade", get, set("Connection", "close"), 400, "invalid websocket headers"},
		{"key of 15 bytes", get, set("Sec-WebSocket-Key", "MTIzNDU2Nzg5MDEyMzQ1"), 400, "invalid websocket key"},
		{"key not base64", get, set("Sec-WebSocket-Key", "!!!!"), 400, "invalid websocket key"},
		{"foreign origin", get, set("Origin", "https://evil.example"), 403, "origin not allowed"},
		{"null origin", get, set("Origin", "null"), 403, "origin not allowed"},
		{"foreign port", get, set("Origin", "http://example.org:81"), 403, "origin not allowed"},
		{"bad request line", "GET /ws", nil, 400, "400 Bad Request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			nc := dialTCPTest(t, p)
			io.WriteString(nc, request(c.line, c.change))
			if c.status == 101 {
				checkSwitching(t, readHead(t, nc))
				return
			}
			resp, body := readResponse(t, nc)
			if resp.StatusCode != c.status || body != c.body {
				t.Errorf("%d %q, want %d %q", resp.StatusCode, body, c.status, c.body)
			}
			if !resp.Close {
				t.Error("the refusal does not close")
			}
			if got := resp.Header.Get("Sec-Websocket-Version"); (got == "13") != (c.status == 426) {
				t.Errorf("Sec-WebSocket-Version: %q", got)
			}
			if n, err := nc.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Error("the connection is not closed")
			}
		})
	}
}

// A host may open the WebSocket to the pages of all origins.
func TestAnyOrigin(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Origins: []string{"*"}}}, nil)
	nc := dialTCPTest(t, p)
	io.WriteString(nc, request("GET /ws HTTP/1.1", map[string]string{"Origin": "https://anybody.example"}))
	checkSwitching(t, readHead(t, nc))
}

// checkSwitching checks what the original client checks, byte by byte.
func checkSwitching(t *testing.T, head string) {
	t.Helper()
	for _, want := range []string{
		"\r\nUpgrade: websocket\r\n", "\r\nConnection: Upgrade\r\n",
		"\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in %q", want, head)
		}
	}
	if !strings.HasPrefix(head, "HTTP/1.1 101") || len(head) > 1023 {
		t.Errorf("head of %d bytes: %q", len(head), head)
	}
}

// Options may change while the port is open; a WebSocket that is off is answered 404.
func TestGatewayConfigure(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Off: true}}, nil)
	status := func(line string) string {
		nc := dialTCPTest(t, p)
		io.WriteString(nc, request(line, nil))
		head := readHead(t, nc)
		return head[len("HTTP/1.1 "):][:3]
	}
	if got := status("GET /ws HTTP/1.1"); got != "404" {
		t.Errorf("off: %s, want 404", got)
	}
	p.Configure(GatewayOptions{Path: "/play"})
	if got := status("GET /play HTTP/1.1"); got != "101" {
		t.Errorf("new path: %s, want 101", got)
	}
	if got := status("GET /ws HTTP/1.1"); got != "404" {
		t.Errorf("old path: %s, want 404", got)
	}
}

// The first frame may come together with the request.
func TestPipelinedFirstFrame(t *testing.T) {
	p := openPort(t, Options{}, nil)
	nc := dialTCPTest(t, p)
	frame := appendFrame(nil, opBinary, append(packet(t, 1, 1), packet(t, 2, 9)...), &maskKey{1, 2, 3, 4})
	nc.Write(append([]byte(handshakeRequest), frame...))
	got, _ := receive(t, p, 2, 0)
	if wireSeq(t, got[0].Data) != 1 || wireSeq(t, got[1].Data) != 2 || got[0].Peer != got[1].Peer {
		t.Errorf("got %v", got)
	}
	checkSwitching(t, readHead(t, nc))
}

// The end of a connection at the client, by what it sent last.
func TestConnectionEnds(t *testing.T) {
	good := func(t *testing.T) []byte { return packet(t, 1, 1) }
	cases := []struct {
		name    string
		frames  func(t *testing.T) []byte
		packets int
		want    []byte // payload of the close frame; nil: the stream just ends
	}{
		{"close is echoed", func(t *testing.T) []byte {
			return appendFrame(nil, opClose, closePayload(4000, "bye"), &maskKey{5})
		}, 0, closePayload(4000, "bye")},
		{"close without code", func(t *testing.T) []byte { return appendFrame(nil, opClose, nil, &maskKey{5}) }, 0, []byte{}},
		{"unmasked", func(t *testing.T) []byte { return appendFrame(nil, opBinary, good(t), nil) }, 0, closePayload(1002, "wrong masking")},
		{"too big", func(t *testing.T) []byte { return []byte{0x82, 0xfe, 0x10, 0x01, 0, 0, 0, 0} }, 0, closePayload(1009, "message over 4096 bytes")},
		{"bad packet after a good one", func(t *testing.T) []byte {
			return appendFrame(nil, opBinary, append(good(t), "junk"...), &maskKey{5})
		}, 1, closePayload(1002, "not a packet")},
		{"cut packet", func(t *testing.T) []byte {
			return appendFrame(nil, opBinary, good(t)[:34], &maskKey{5})
		}, 0, closePayload(1002, "not a packet")},
		{"empty message, then good", func(t *testing.T) []byte {
			b := appendFrame(nil, opBinary, nil, &maskKey{5})
			b = appendFrame(b, opPong, []byte("?"), &maskKey{5})
			b = appendFrame(b, opBinary, good(t), &maskKey{5})
			return appendFrame(b, opClose, closePayload(1000, ""), &maskKey{5})
		}, 1, closePayload(1000, "")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := openPort(t, Options{}, nil)
			nc := dialTCPTest(t, p)
			io.WriteString(nc, handshakeRequest)
			readHead(t, nc)
			nc.Write(c.frames(t))
			op, payload, err := newFrameReader(nc, false).next()
			if err != nil || op != opClose || !bytes.Equal(payload, c.want) {
				t.Errorf("%v %q, %v; want close %q", op, payload, err, c.want)
			}
			if n, err := nc.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after the close frame: %d bytes, %v", n, err)
			}
			nc.Close()
			packets, _ := receive(t, p, c.packets, 1)
			if len(packets) != c.packets {
				t.Errorf("%d packets were delivered, want %d", len(packets), c.packets)
			}
		})
	}
}

func TestPingIsAnswered(t *testing.T) {
	p := openPort(t, Options{}, nil)
	nc := dialTCPTest(t, p)
	io.WriteString(nc, handshakeRequest)
	readHead(t, nc)
	nc.Write(appendFrame(nil, opPing, []byte("are you there"), &maskKey{1, 2, 3, 4}))
	op, payload, err := newFrameReader(nc, false).next()
	if err != nil || op != opPong || string(payload) != "are you there" {
		t.Errorf("%v %q, %v; want pong with the same payload", op, payload, err)
	}
}

// browserRequest is the handshake of a browser, which answers pings by itself.
var browserRequest = request("GET /ws HTTP/1.1",
	map[string]string{"Origin": "http://example.org", "Sec-WebSocket-Key": "AQIDBAUGBwgJCgsMDQ4PEA=="})

// A silent client is sent a ping, and dropped when it does not answer.
func TestSilenceEnds(t *testing.T) {
	p := openPort(t, Options{WebSocket: GatewayOptions{Timing: Timing{Ping: 5 * time.Millisecond, Idle: time.Second}}},
		nil)
	nc := dialTCPTest(t, p)
	io.WriteString(nc, browserRequest)
	readHead(t, nc)
	nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
	f := newFrameReader(nc, false)
	op, _, err := f.next()
	if err != nil || op != opPing {
		t.Fatalf("%v, %v; want ping", op, err)
	}
	for err == nil {
		op, _, err = f.next()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("after %v: %v, want the end", op, err)
	}
	receive(t, p, 0, 1)
}

// TestOnePacketPerMessage: packets that wait for the writer together travel as
// messages of their own.
func TestOnePacketPerMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, near := net.Pipe()
		c := newConn(near, bufio.NewReader(near), wamble.Peer{Route: 1}, Timing{}.withDefaults(), false, false)
		c.Send(packet(t, 0, 1))
		synctest.Wait() // the writer writes the first, and the client does not read
		const n = 9
		for i := uint32(1); i < n; i++ {
			c.Send(packet(t, i, 700))
		}
		c.Close(CloseNormal, "")
		frames := newFrameReader(far, false)
		for i := range uint32(n) {
			op, b, err := frames.next()
			size, _ := wire.Size(b)
			if err != nil || op != opBinary || size != len(b) || wireSeq(t, b) != i {
				t.Fatalf("message %d: %v of %d bytes, %v; want one packet", i, op, len(b), err)
			}
		}
		if op, _, err := frames.next(); err != nil || op != opClose {
			t.Errorf("%v, %v; want the close frame", op, err)
		}
		c.Finish(net.ErrClosed)
	})
}

// TestOriginalIsNotPinged: a client that sends the original's key, or is no browser, gets no
// ping however long it is silent, and stays connected.
func TestOriginalIsNotPinged(t *testing.T) {
	const key = "Sec-WebSocket-Key"
	for name, change := range map[string]map[string]string{
		"original": {}, "original with an origin": {"Origin": "http://example.org"},
		"program": {key: "AQIDBAUGBwgJCgsMDQ4PEA=="},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far, near := net.Pipe()
				r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(request("GET /ws HTTP/1.1", change))))
				if err != nil {
					t.Fatal(err)
				}
				c := newConn(near, bufio.NewReader(near), wamble.Peer{Route: 1}, Timing{}.withDefaults(), false,
					answersPings(r, r.Header.Get(key)))
				go far.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
				if _, err := c.Next(); err != nil {
					t.Fatal(err)
				}
				far.SetReadDeadline(time.Now().Add(30 * time.Minute))
				if n, err := far.Read(make([]byte, 1)); n != 0 || !isTimeout(err) {
					t.Errorf("%d bytes, %v; want silence", n, err)
				}
				go far.Write(appendFrame(nil, opBinary, packet(t, 2, 1), &maskKey{1}))
				if b, err := c.Next(); err != nil || wireSeq(t, b) != 2 {
					t.Errorf("after half an hour: %v", err)
				}
				c.Finish(net.ErrClosed)
			})
		})
	}
}

// A client that answers pings stays for longer than the allowed silence. On a machine that
// was paused for so long that no pong could arrive the client may reconnect.
func TestPongKeepsAlive(t *testing.T) {
	timing := Timing{Ping: 20 * time.Millisecond, Idle: time.Second}
	p := openPort(t, Options{WebSocket: GatewayOptions{Timing: timing}}, nil)
	stays := func() (stood time.Duration, err error) {
		nc := dialTCPTest(t, p)
		io.WriteString(nc, browserRequest)
		readHead(t, nc)
		nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
		receive(t, p, 1, 0)
		f := newFrameReader(nc, false)
		began := time.Now()
		for last := began; time.Since(began) < 2*timing.Idle; last = time.Now() {
			op, _, err := f.next()
			stood = max(stood, time.Since(last))
			if err != nil || op != opPing {
				return stood, fmt.Errorf("%v, %w; want ping", op, err)
			}
			nc.Write(appendFrame(nil, opPong, nil, &maskKey{1}))
		}
		nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
		receive(t, p, 1, 0)
		return stood, nil
	}
	stood, err := stays()
	for end := time.Now().Add(patience); err != nil && stood > timing.Idle/4 && time.Now().Before(end); {
		stood, err = stays()
	}
	if err != nil {
		t.Error(err)
	}
}

// A host at its limit whose connections are all in use gets no further one, until one of them
// ends.
func TestHostLimit(t *testing.T) {
	p := openPort(t, Options{HTTP: HTTPOptions{MaxHost: 2}}, nil)
	first, second := dialPort(t, p), dialPort(t, p)
	first.Send(packet(t, 1, 1))
	second.Send(packet(t, 1, 1))
	receive(t, p, 2, 0)
	if enters(t, p, "127.0.0.1") {
		t.Error("a third connection of one host got in")
	}
	if got := p.Stats(); got.Open != 2 {
		t.Errorf("%+v, want 2 open", got)
	}
	first.Close(CloseNormal, "")
	_, err := first.Next()
	first.Finish(err)
	receive(t, p, 0, 1)
	for range 1000 { // its place is free when the gateway has closed it
		if enters(t, p, "127.0.0.1") {
			return
		}
	}
	t.Error("the place of an ended connection is not given back")
}

// A connection without a complete head is closed.
func TestSlowHead(t *testing.T) {
	p := openPort(t, Options{HTTP: HTTPOptions{Head: 50 * time.Millisecond}}, nil)
	slow := dialTCPTest(t, p)
	io.WriteString(slow, "GET /ws HTTP/1.1\r\nHost:")
	if _, err := io.ReadAll(slow); isTimeout(err) {
		t.Errorf("a slow head is waited for: %v", err)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestHTTPBounds(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		}
	})
	p := openPort(t, Options{HTTP: HTTPOptions{MaxBody: 1000}}, site)
	base := "http://" + p.TCPAddr().String()
	for n, want := range map[int]int{1000: http.StatusOK, 1001: http.StatusRequestEntityTooLarge} {
		resp, err := http.Post(base+"/x", "text/plain", strings.NewReader(strings.Repeat("x", n)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("body of %d bytes: %d, want %d", n, resp.StatusCode, want)
		}
	}
	req, _ := http.NewRequest("GET", base+"/x", nil)
	req.Header.Set("Cookie", strings.Repeat("x", 16<<10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("head of 16 KiB: %d", resp.StatusCode)
	}
}

func TestDialWebSocketErrors(t *testing.T) {
	p := openPort(t, Options{}, nil)
	host := p.TCPAddr().String()
	for name, raw := range map[string]string{
		"wrong path": "ws://" + host + "/other", "scheme": "http://" + host + "/ws",
		"TLS to plain": "wss://" + host + "/ws",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := DialWebSocket(t.Context(), u, nil, Timing{}); err == nil {
			c.Finish(net.ErrClosed)
			t.Errorf("%s: no error", name)
		}
	}
	// A server that accepts and sends nothing.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u := &url.URL{Scheme: "ws", Host: l.Addr().String(), Path: "/ws"}
	if _, err := DialWebSocket(t.Context(), u, nil, Timing{Handshake: 10 * time.Millisecond}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("silent server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DialWebSocket(ctx, u, nil, Timing{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
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
