package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// TestPause: a paused port finishes the request in progress, closes idle connections, and
// leaves the next request in the kernel's queue, for the process that takes the socket over.
func TestPause(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	p := openPort(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(began)
			<-finish
		}
		io.WriteString(w, "the first")
	}))
	base := "http://" + p.TCPAddr().String()
	get := func(path string) <-chan string {
		got := make(chan string, 1)
		go func() {
			answer, err := http.Get(base + path)
			if err != nil {
				got <- err.Error()
				return
			}
			defer answer.Body.Close()
			body, _ := io.ReadAll(answer.Body)
			got <- string(body)
		}()
		return got
	}
	want := func(got <-chan string, body string) {
		t.Helper()
		select {
		case b := <-got:
			if b != body {
				t.Errorf("got %q, want %q", b, body)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no answer, want %q", body)
		}
	}
	want(get("/"), "the first") // leaves an idle connection
	slow := get("/slow")
	<-began

	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.Pause(short); err == nil {
		t.Error("a port with a request in progress was quiet")
	}
	p.Resume()
	want(get("/"), "the first")

	paused := make(chan error)
	go func() { paused <- p.Pause(t.Context()) }()
	close(finish)
	want(slow, "the first")
	if err := <-paused; err != nil {
		t.Fatal(err)
	}
	next := get("/")
	udp, err := Duplicate(p.UDP())
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := Duplicate(p.TCP())
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	select {
	case b := <-next:
		t.Errorf("the paused port answered %q", b)
	default:
	}
	heir, err := only(AdoptShards([]*os.File{udp}, tcp, Options{}, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer heir.Close()
	go heir.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "the second") }),
		nil)
	want(next, "the second")
}

// TestFarewell: a connection gets what is queued for it and then the close code, and later
// connections are served.
func TestFarewell(t *testing.T) {
	p := openPort(t, Options{}, nil)
	for round := range 2 {
		ws := dialPort(t, p)
		ws.Send(packet(t, 1, 1))
		got, _ := receive(t, p, 1, 0)
		p.Send(Packets{{Peer: got[0].Peer, Data: packet(t, 5, 1)}})
		p.CloseConns(t.Context(), CloseGoingAway)
		b, err := ws.Next()
		if err != nil || wireSeq(t, b) != 5 {
			t.Fatalf("round %d: got % x, %v; want the answer", round, b, err)
		}
		_, err = ws.Next()
		var closed *CloseError
		if !errors.As(err, &closed) || closed.Code != CloseGoingAway {
			t.Errorf("round %d: the client saw %v, want close code %d", round, err, CloseGoingAway)
		}
		ws.Finish(err)
		if _, ended := receive(t, p, 0, 1); ended[0] != got[0].Peer {
			t.Errorf("round %d: %v ended, want %v", round, ended[0], got[0].Peer)
		}
	}
}

// TestPauseKnowsEverybody: a connection that was accepted a moment before the listener was
// paused, and that the server has not counted yet, is waited for.
func TestPauseKnowsEverybody(t *testing.T) {
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	l := &pausableListener{TCPListener: tcp}
	defer l.Close()
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	if !closed(l.pause()) {
		t.Error("nobody accepts, and somebody may have come in")
	}
	l.resume()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	c, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	known := l.pause()
	if closed(known) || closed(l.pause()) {
		t.Error("the listener forgot who had come in")
	}
	accepted := make(chan error, 1)
	go func() { // the server has c now, and accepts the next
		_, err := l.AcceptTCP()
		accepted <- err
	}()
	select {
	case <-known:
	case <-time.After(time.Minute):
		t.Fatal("the server wants the next, and is not believed to know everybody")
	}
	l.Close()
	if err := <-accepted; err == nil {
		t.Error("a closed listener let somebody in")
	}
}

// TestPauseLeaves: a request that itself asks for the pause is not waited for.
func TestPauseLeaves(t *testing.T) {
	pause := make(chan func(left int) error, 1)
	p := openPort(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := <-pause
		if err := h(1); err != nil {
			io.WriteString(w, err.Error())
		}
	}))
	pause <- func(left int) error { return p.pauser.Pause(t.Context(), left) }
	answer, err := http.Get("http://" + p.TCPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || len(body) > 0 {
		t.Errorf("got %q, %v", body, err)
	}
}

// TestPauseHalfSent: a request that is only half sent does not keep a pause waiting.
func TestPauseHalfSent(t *testing.T) {
	answered := make(chan struct{})
	p := openPort(t, Options{HTTP: HTTPOptions{Head: time.Hour}},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { close(answered) }))
	half, err := net.Dial("tcp", p.TCPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	if _, err := io.WriteString(half, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	whole, err := http.Get("http://" + p.TCPAddr().String()) // the first connection was accepted before this one
	if err != nil {
		t.Fatal(err)
	}
	whole.Body.Close()
	<-answered
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Pause(ctx); err != nil {
		t.Fatalf("after %v: %v", time.Since(began), err)
	}
	half.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := half.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the half request got %d bytes, %v; want its end", n, err)
	}
}

// TestAcceptPanics: a panic over one connection ends that one; the next is accepted.
func TestAcceptPanics(t *testing.T) {
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	panics := make(chan error, 2)
	broken := newConnLimiter(10, 10, new(atomic.Uint64))
	broken.hosts = nil // take panics
	l := &limitedListener{&pausableListener{TCPListener: tcp}, broken, func(err error) { panics <- err }, nil, 0}
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	for range 2 {
		if far, err := net.Dial("tcp", l.Addr().String()); err == nil { // or it was ended already
			defer far.Close()
		}
		<-panics
	}
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}
