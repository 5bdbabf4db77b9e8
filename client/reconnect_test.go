package client_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/internal/transport"
	"wamble/wire"
)

// count returns how often the server executed a request.
func count(s *clienttest.Server, c wire.Control) (n int) {
	for _, h := range s.Received() {
		if h.Ctrl == c {
			n++
		}
	}
	return n
}

// However packets are lost or doubled over UDP, a move is executed once and answered.
func TestLossOverUDP(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		fault func(s *clienttest.Server)
	}{
		{"request", func(s *clienttest.Server) { s.Lose(wire.CtrlPlayerMove, 2) }},
		{"ACK", func(s *clienttest.Server) { s.Drop(wire.CtrlAck, 2) }},
		{"answer", func(s *clienttest.Server) { s.Drop(wire.CtrlBoardUpdate, 2) }},
		{"ACK and answer", func(s *clienttest.Server) { s.Drop(wire.CtrlAck, 1); s.Drop(wire.CtrlBoardUpdate, 1) }},
		{"answer twice", func(s *clienttest.Server) { s.Double(wire.CtrlBoardUpdate, 1) }},
		{"ACK twice", func(s *clienttest.Server) { s.Double(wire.CtrlAck, 1) }},
		{"ACK of the answer", func(s *clienttest.Server) { s.Lose(wire.CtrlAck, 2) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := clienttest.NewServer(t,
				clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w")),
				clienttest.Expect(wire.CtrlPlayerMove).Answer(3, update("8/8/8/8/8/8/8/8 b")))
			ctx := testContext(t)
			cl := dial(t, ctx, quick(), s.UDP())
			c.fault(s)
			if b, err := cl.Play(ctx, "e2e4"); err != nil || b.ID != 2 {
				t.Fatalf("%+v, %v", b, err)
			}
			if b, err := cl.Play(ctx, "e2e4"); err != nil || b.ID != 3 {
				t.Fatalf("the next move: %+v, %v", b, err)
			}
			if n := count(s, wire.CtrlPlayerMove); n != 2 {
				t.Errorf("%d moves were executed, want 2", n)
			}
		})
	}
}

func TestLostHello(t *testing.T) {
	s := clienttest.NewServer(t)
	s.Lose(wire.CtrlClientHello, 2)
	s.Drop(wire.CtrlServerHello, 1)
	c := dial(t, testContext(t), quick(), s.UDP())
	if c.Board().ID != 1 {
		t.Errorf("board %d", c.Board().ID)
	}
}

// An answer that overtakes its ACK still counts as the answer.
func TestAnswerBeforeACK(t *testing.T) {
	s := clienttest.NewServer(t, clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w")))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.UDP())
	release := s.Hold(wire.CtrlAck)
	done := make(chan error, 1)
	go func() {
		b, err := c.Play(ctx, "e2e4")
		if err == nil && b.ID != 2 {
			err = errors.New("wrong board")
		}
		done <- err
	}()
	for count(s, wire.CtrlPlayerMove) == 0 {
		if ctx.Err() != nil {
			t.Fatal("the move never came")
		}
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A board that is pushed is the board to play on.
func TestPushedBoard(t *testing.T) {
	for _, network := range []string{"udp", "ws"} {
		t.Run(network, func(t *testing.T) {
			s := clienttest.NewServer(t)
			ctx := testContext(t)
			c := dial(t, ctx, quick(), address(s, network))
			s.Push(c.Token(), wire.Header{Board: 7}, update("8/8/8/8/8/8/8/8 w"))
			e, err := c.Event(ctx)
			if err != nil || e.Kind != client.BoardChanged || e.Board.ID != 7 || c.Board().ID != 7 {
				t.Fatalf("%+v, %v", e, err)
			}
			s.Script(clienttest.Expect(wire.CtrlPlayerMove).Where(move("e2e4", 7)).Deny(wamble.MoveRejected, "no"))
			if _, err := c.Play(ctx, "e2e4"); client.DeniedCode(err) != wamble.MoveRejected ||
				errors.Is(err, client.ErrUncertain) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A board that is pushed while a move is under way, before its ACK, does not count as its
// answer.
func TestPushIsNotTheAnswer(t *testing.T) {
	s := clienttest.NewServer(t)
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.UDP())
	s.Push(c.Token(), wire.Header{Board: 7}, update("8/8/8/8/8/8/8/8 w"))
	if _, err := c.Event(ctx); err != nil {
		t.Fatal(err)
	}
	// Now the address is proven, and pushes leave at once. The ACK of the move and its answer
	// are held back, the push is not.
	s.Script(clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "too late"))
	releaseAck, releaseError := s.Hold(wire.CtrlAck), s.Hold(wire.CtrlError)
	result := make(chan error, 1)
	go func() {
		_, err := c.Play(ctx, "e2e4")
		result <- err
	}()
	for count(s, wire.CtrlPlayerMove) == 0 {
		if ctx.Err() != nil {
			t.Fatal("the move never came")
		}
	}
	s.Push(c.Token(), wire.Header{Board: 8}, update("8/8/8/8/8/8/8/8 b"))
	// The client's ACK of the push confirms its arrival.
	for s.Delivered() < 3 { // hello, first push, second push
		if ctx.Err() != nil {
			t.Fatal("the push was not acknowledged")
		}
	}
	releaseAck()
	releaseError()
	if err := <-result; client.DeniedCode(err) != wamble.MoveRejected {
		t.Errorf("%v, want the refusal", err)
	}
	if e, err := c.Event(ctx); err != nil || e.Kind != client.BoardChanged || e.Board.ID != 8 {
		t.Errorf("%+v, %v; want the push", e, err)
	}
}

// With a server that numbers its answers no push is mistaken for one, in whatever order they
// come.
func TestNumberedAnswers(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{ // the hello has sequence 1
			clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w"),
				wire.Int(wire.KeyRequestSeq, 2)),
			clienttest.Expect(wire.CtrlPlayerMove).
				Answer(50, update("8/8/8/8/8/8/8/8 b")).                                  // without a number: a push
				Answer(60, update("8/8/8/8/8/8/8/8 b"), wire.Int(wire.KeyRequestSeq, 2)). // of another request
				Answer(3, update("8/8/8/8/8/8/8/8 w"), wire.Int(wire.KeyRequestSeq, 3)).
				Answer(70, update("8/8/8/8/8/8/8/8 b"), wire.Int(wire.KeyRequestSeq, 2)). // of one that is over
				Answer(75, update("8/8/8/8/8/8/8/8 b"), wire.Int(wire.KeyRequestSeq, 9)). // of another client
				Answer(80, update("8/8/8/8/8/8/8/8 b")),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		for _, want := range []wamble.BoardID{2, 3} {
			if b, err := c.Play(ctx, "e2e4"); err != nil || b.ID != want {
				t.Fatalf("%+v, %v; want board %d", b, err, want)
			}
		}
		if e, err := c.Event(ctx); err != nil || e.Kind != client.BoardChanged || e.Board.ID != 50 {
			t.Errorf("%+v, %v; want the push", e, err)
		}
		if e, err := c.Event(ctx); err != nil || e.Kind != client.BoardChanged || e.Board.ID != 80 {
			t.Errorf("%+v, %v; want the push and nothing older", e, err)
		}
	})
}

func TestEvents(t *testing.T) {
	overBoth(t, nil, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		s.Push(c.Token(), wire.Header{Flags: wire.FlagUnreliable},
			wire.ServerNotification{Type: wire.NoticeMaintenance, Text: wire.Text("soon")})
		e, err := c.Event(ctx)
		if err != nil || e.Kind != client.Notice || e.Notice != wire.NoticeMaintenance || e.Text != "soon" {
			t.Errorf("%+v, %v", e, err)
		}
		s.Push(c.Token(), wire.Header{Board: 3}, wire.Error{Code: wamble.UnknownBoard, Reason: wire.Text("none")},
			wire.Int(wire.KeyErrorBlocking, 1))
		e, err = c.Event(ctx)
		var d *wamble.Denied
		if err != nil || e.Kind != client.Refused || !errors.As(e.Err, &d) || d.Code != wamble.UnknownBoard ||
			!d.Blocking {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

// A server that restarts: the session is resumed and the move that was under
// way is sent again.
func TestMoveSurvivesRestart(t *testing.T) {
	var s *clienttest.Server
	s = clienttest.NewServer(t,
		clienttest.Expect(wire.CtrlPlayerMove).Then(func() { s.Disconnect(transport.CloseGoingAway) }), // executed, never answered
		clienttest.Expect(wire.CtrlPlayerMove).Where(move("e2e4", 1)).Answer(2, update("8/8/8/8/8/8/8/8 w")))
	ctx := testContext(t)
	d := &client.Dialer{MinBackoff: time.Hour, MaxBackoff: time.Hour} // 1001 means at once
	c := dial(t, ctx, d, s.WebSocket())
	token := c.Token()
	if b, err := c.Play(ctx, "e2e4"); err != nil || b.ID != 2 {
		t.Fatalf("%+v, %v", b, err)
	}
	if c.Token() != token || count(s, wire.CtrlClientHello) != 2 {
		t.Errorf("token %v, want %v; %d hellos, want 2", c.Token(), token, count(s, wire.CtrlClientHello))
	}
	for _, want := range []client.EventKind{client.Disconnected, client.Resumed} {
		if e, err := c.Event(ctx); err != nil || e.Kind != want {
			t.Errorf("%+v, %v; want event %d", e, err, want)
		}
	}
}

// When a server refuses the repeated move, the fate of the first one is unknown.
func TestUncertainMove(t *testing.T) {
	var s *clienttest.Server
	s = clienttest.NewServer(t,
		clienttest.Expect(wire.CtrlPlayerMove).Then(func() { s.Disconnect(1011) }),
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "move rejected (status=2)"))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.WebSocket())
	_, err := c.Play(ctx, "e2e4")
	if !errors.Is(err, client.ErrUncertain) || client.DeniedCode(err) != wamble.MoveRejected {
		t.Errorf("%v, want %v and the refusal", err, client.ErrUncertain)
	}
}

// The proof of a login is not repeated after a break; the login begins anew.
func TestLoginSurvivesBreak(t *testing.T) {
	var s *clienttest.Server
	ask := func() *clienttest.Step {
		return clienttest.Expect(wire.CtrlLoginRequest).Answer(0, wire.LoginChallenge{})
	}
	s = clienttest.NewServer(t, ask(),
		clienttest.Expect(wire.CtrlLoginRequest).Then(func() { s.Disconnect(1011) }),
		ask(),
		clienttest.Expect(wire.CtrlLoginRequest).Answer(1, wire.LoginSuccess{FEN: wire.Text("8/8/8/8/8/8/8/8 w")}))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.WebSocket())
	if _, err := c.Login(ctx, make(ed25519.PrivateKey, 64)); err != nil {
		t.Error(err)
	}
}

// Over UDP, when a server has lost all links, and even the session, Hello begins a new one.
func TestServerForgets(t *testing.T) {
	s := clienttest.NewServer(t,
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.UnknownPlayer, "unknown player",
			wire.Int(wire.KeyErrorBlocking, 1)),
		clienttest.Expect(wire.CtrlPlayerMove).Answer(9, update("8/8/8/8/8/8/8/8 w")))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.UDP())
	old := c.Token()
	s.Forget(true)
	if _, err := c.Play(ctx, "e2e4"); client.DeniedCode(err) != wamble.UnknownPlayer {
		t.Fatal(err)
	}
	session, err := c.Hello(ctx)
	if err != nil || session.Token == old {
		t.Fatalf("%+v, %v", session, err)
	}
	if b, err := c.Play(ctx, "e2e4"); err != nil || b.ID != 9 {
		t.Errorf("%+v, %v", b, err)
	}
}

// A UDP server that is silent for long is dialled anew; the call under way
// waits and is answered.
func TestSilenceReconnects(t *testing.T) {
	t.Parallel() // it waits until the first connection is given up
	s := clienttest.NewServer(t, clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w")))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.UDP())
	s.Lose(wire.CtrlPlayerMove, 6) // all copies of the first connection
	if b, err := c.Play(ctx, "e2e4"); err != nil || b.ID != 2 {
		t.Fatalf("%+v, %v", b, err)
	}
	if e, err := c.Event(ctx); err != nil || e.Kind != client.Disconnected {
		t.Errorf("%+v, %v", e, err)
	}
}

// A refusal that rules out a retry ends the client.
func TestResumeRefusedForGood(t *testing.T) {
	s := clienttest.NewServer(t)
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.WebSocket())
	s.Script(
		clienttest.Expect(wire.CtrlClientHello).Deny(wamble.Internal, "database away"), // worth another try
		clienttest.Expect(wire.CtrlClientHello).Deny(wamble.UnknownBoard, "no board",
			wire.Int(wire.KeyErrorBlocking, 1)))
	s.Disconnect(1011)
	var err error
	for err == nil {
		_, err = c.Event(ctx)
	}
	if client.DeniedCode(err) != wamble.UnknownBoard {
		t.Errorf("the client ended with %v", err)
	}
	if _, err := c.Play(ctx, "e2e4"); client.DeniedCode(err) != wamble.UnknownBoard {
		t.Errorf("Play: %v", err)
	}
}

// A call that waits for a new connection ends with its context.
func TestContextEndsWaitingForReconnect(t *testing.T) {
	s, err := clienttest.Start()
	if err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.WebSocket())
	s.Close()
	if e, err := c.Event(ctx); err != nil || e.Kind != client.Disconnected {
		t.Fatalf("%+v, %v", e, err)
	}
	short, cancel := context.WithCancel(ctx)
	result := make(chan error)
	go func() {
		_, err := c.Play(short, "e2e4")
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// wss:// through a proxy that ends TLS.
func TestTLS(t *testing.T) {
	s := clienttest.NewServer(t, clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w")))
	target, err := url.Parse(s.WebSocket())
	if err != nil {
		t.Fatal(err)
	}
	target.Scheme, target.Path = "http", ""
	proxy := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0) // of the certificate that is refused below
	proxy.StartTLS()
	defer proxy.Close()
	ctx := testContext(t)
	d := quick()
	address := "wss" + proxy.URL[len("https"):] + "/ws"
	if _, err := d.Dial(ctx, address); err == nil {
		t.Error("an unknown certificate was accepted")
	}
	roots := x509.NewCertPool()
	roots.AddCert(proxy.Certificate())
	d.TLS = &tls.Config{RootCAs: roots}
	c := dial(t, ctx, d, address)
	if b, err := c.Play(ctx, "e2e4"); err != nil || b.ID != 2 {
		t.Errorf("%+v, %v", b, err)
	}
	c.Close()
}

// Two clients of one session use different numbers.
func TestFirstSeq(t *testing.T) {
	firsts := map[uint32]bool{}
	for range 4 {
		seqs := make(chan uint32, 1)
		s := clienttest.NewServer(t, clienttest.Expect(wire.CtrlPlayerMove).
			Where(func(p *wire.Packet) error { seqs <- p.Seq; return nil }).Answer(2, update("8/8/8/8/8/8/8/8 w")))
		ctx := testContext(t)
		if _, err := dial(t, ctx, new(client.Dialer), s.UDP()).Play(ctx, "e2e4"); err != nil {
			t.Fatal(err)
		}
		firsts[<-seqs] = true
	}
	if len(firsts) < 3 {
		t.Errorf("four clients began with the numbers %v", firsts)
	}
}

// greeting is a hello whose answer lists several machines.
func greeting(machines string, ext ...wire.Field) *clienttest.Step {
	return clienttest.Expect(wire.CtrlClientHello).AnswerWith(
		wire.Header{Token: clienttest.SessionToken(1), Board: 1}, wire.ServerHello{FEN: wire.Text(clienttest.StartFEN)},
		append(ext, wire.String(wire.KeyClusterEndpoint, machines))...)
}

// A client that knows several machines leaves one that is silent, or whose port is closed,
// without asking it again.
func TestLeavesALostMachine(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"silent", "closed"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			s := clienttest.NewServer(t, greeting("127.0.0.1 127.0.0.2"))
			_, port, err := net.SplitHostPort(strings.TrimPrefix(s.UDP(), "udp://"))
			if err != nil {
				t.Fatal(err)
			}
			other, err := net.ListenPacket("udp", "127.0.0.2:"+port)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			c := dial(t, ctx, quick(), s.UDP())
			if lost == "closed" {
				s.Close()
			} else {
				s.Lose(wire.CtrlPlayerMove, 100)
			}
			go c.Play(ctx, "e2e4")
			deadline, _ := ctx.Deadline()
			other.SetReadDeadline(deadline)
			b := make([]byte, wire.MaxPacket)
			n, _, err := other.ReadFrom(b)
			if err != nil {
				t.Fatalf("the other machine hears nothing: %v", err)
			}
			if h, err := wire.Peek(b[:n]); err != nil || h.Ctrl != wire.CtrlClientHello ||
				h.Token != clienttest.SessionToken(1) {
				t.Errorf("the other machine hears %+v, %v", h, err)
			}
			if got := count(s, wire.CtrlClientHello); got != 1 {
				t.Errorf("the lost machine was greeted %d times", got)
			}
		})
	}
}

// A client that looks for a machine asks a silent one at most three times, and then the next
// one.
func TestSeeksBriefly(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := clienttest.NewServer(t, greeting("127.0.0.1 127.0.0.2 127.0.0.3"))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.UDP(), "udp://"))
	if err != nil {
		t.Fatal(err)
	}
	deadline, _ := ctx.Deadline()
	silent := map[string]net.PacketConn{}
	for _, host := range []string{"127.0.0.2", "127.0.0.3"} {
		conn, err := net.ListenPacket("udp", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetReadDeadline(deadline)
		silent[host] = conn
	}
	c := dial(t, ctx, quick(), s.UDP())
	s.Lose(wire.CtrlPlayerMove, 100)
	go c.Play(ctx, "e2e4")
	b := make([]byte, wire.MaxPacket)
	if _, _, err := silent["127.0.0.3"].ReadFrom(b); err != nil {
		t.Fatalf("the third machine hears nothing: %v", err)
	}
	if _, _, err := silent["127.0.0.2"].ReadFrom(b); err != nil {
		t.Fatalf("the second machine hears nothing: %v", err)
	}
	hellos := 1
	silent["127.0.0.2"].SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	for _, _, err = silent["127.0.0.2"].ReadFrom(b); err == nil; hellos++ {
		_, _, err = silent["127.0.0.2"].ReadFrom(b)
	}
	if hellos > 3 { // fewer if this machine is busy
		t.Errorf("the second machine was asked %d times, want 3", hellos)
	}
}

// A client that is told which machine serves it connects to that one; if it is silent the
// client plays on where it was, and does not try again. A machine that the server has not
// listed is never asked.
func TestHomeIsSilent(t *testing.T) {
	t.Parallel()
	for home, asked := range map[string]bool{"127.0.0.2": true, "127.0.0.3": false} {
		t.Run(home, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			hello := func() *clienttest.Step {
				return greeting("127.0.0.1 127.0.0.2", wire.String(wire.KeyClusterHome, home))
			}
			played := func() *clienttest.Step {
				return clienttest.Expect(wire.CtrlPlayerMove).Answer(1, update(clienttest.StartFEN),
					wire.String(wire.KeyClusterHome, home))
			}
			script := []*clienttest.Step{hello(), played(), played()}
			if asked {
				script = []*clienttest.Step{hello(), hello(), played(), played()}
			}
			s := clienttest.NewServer(t, script...)
			_, port, err := net.SplitHostPort(strings.TrimPrefix(s.UDP(), "udp://"))
			if err != nil {
				t.Fatal(err)
			}
			other, err := net.ListenPacket("udp", net.JoinHostPort(home, port))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			c := dial(t, ctx, quick(), s.UDP())
			for range 2 {
				if _, err := c.Play(ctx, "e2e4"); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
			deadline := time.Now().Add(50 * time.Millisecond) // what was sent is there
			if asked {
				deadline, _ = ctx.Deadline()
			}
			other.SetReadDeadline(deadline)
			b := make([]byte, wire.MaxPacket)
			n, _, err := other.ReadFrom(b)
			if asked != (err == nil) {
				t.Fatalf("the other machine hears something: %v; want %v", err == nil, asked)
			}
			if h, err := wire.Peek(b[:n]); asked &&
				(err != nil || h.Ctrl != wire.CtrlClientHello || h.Token != clienttest.SessionToken(1)) {
				t.Errorf("the other machine hears %+v, %v", h, err)
			}
			if got, want := count(s, wire.CtrlClientHello), len(script)-2; got != want {
				t.Errorf("the machine that was dialled was greeted %d times, want %d", got, want)
			}
		})
	}
}
