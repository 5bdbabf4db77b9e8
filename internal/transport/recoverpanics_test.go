package transport

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/guard"
)

// panicky is a connection whose calls panic once they are armed.
type panicky struct {
	net.Conn
	read, write bool
}

func (c panicky) Read(p []byte) (int, error) {
	if c.read {
		panic("a test panics in Read")
	}
	return c.Conn.Read(p)
}

func (c panicky) Write(p []byte) (int, error) {
	if c.write {
		panic("a test panics in Write")
	}
	return c.Conn.Write(p)
}

// pair is both ends of a TCP connection.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial("tcp", l.Addr().String()); err == nil {
		near, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// TestConnectionPanics: a panic in the reader or in the writer of a WebSocket ends
// that connection, which is reported, and no other.
func TestConnectionPanics(t *testing.T) {
	for _, at := range []panicky{{read: true}, {write: true}} {
		p := openPort(t, Options{}, nil)
		other := dialPort(t, p)
		defer other.Abort()
		other.Send(packet(t, 1, 8))
		got, _ := receive(t, p, 1, 0)

		var reports []error
		p.gateway.setPanicHandler(func(err error) { reports = append(reports, err) })
		near, far := pair(t)
		at.Conn = near
		served := make(chan struct{})
		go func() {
			defer close(served)
			p.gateway.serve(newConn(at, bufio.NewReader(at), wamble.Peer{Route: nextRoute()}, Timing{}.withDefaults(),
				false, false))
		}()
		if at.write {
			// A packet of the far end sets its route; the answer panics.
			far.Write(appendFrame(nil, opBinary, packet(t, 2, 8), new(maskKey)))
			in, _ := receive(t, p, 1, 0)
			p.gateway.send(in[0].Peer.Route, packet(t, 3, 8))
		}
		<-served
		if _, err := far.Read(make([]byte, 1)); err == nil {
			t.Errorf("%+v: the connection is open", at)
		}
		var crash *guard.Panic
		if len(reports) != 1 || !errors.As(reports[0], &crash) ||
			!strings.Contains(string(crash.Stack), "recoverpanics_test.go") {
			t.Errorf("%+v: reported %v", at, reports)
		}
		receive(t, p, 0, 1)
		if n := p.gateway.count(); n != 1 {
			t.Errorf("%+v: %d connections are left, want that of the other", at, n)
		}
		p.gateway.send(got[0].Peer.Route, packet(t, 4, 8))
		if b, err := other.Next(); err != nil || wireSeq(t, b) != 4 {
			t.Errorf("%+v: the other connection got % x, %v", at, b, err)
		}
	}
}

// TestGuarded: a handler that panics is answered 500, one whose answer has begun is cut off,
// and both are reported.
func TestGuarded(t *testing.T) {
	var reports []error
	s := httptest.NewServer(RecoverPanics(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			io.WriteString(w, strings.Repeat("half an answer", 1000))
		}
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		panic("a test panics in a handler")
	}), func(err error) { reports = append(reports, err) }))
	defer s.Close()
	answer, err := http.Get(s.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != 500 || string(text) != "internal error\n" {
		t.Errorf("got %d %q", answer.StatusCode, text)
	}
	if answer, err := http.Get(s.URL + "/begun"); err == nil {
		if _, err = io.ReadAll(answer.Body); err == nil {
			t.Error("half an answer looks whole")
		}
		answer.Body.Close()
	}
	if answer, err := http.Get(s.URL + "/abort"); err == nil {
		answer.Body.Close()
		t.Errorf("an answer that its handler gave up came with %d", answer.StatusCode)
	}
	s.Close()
	if len(reports) != 2 || reports[0].Error() != `panic in the answer to GET "/x": a test panics in a handler` {
		t.Errorf("reported %v", reports)
	}
}
