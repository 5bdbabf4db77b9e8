package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/wire"
)

// patience bounds every test; it is never the expected outcome.
const patience = time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// quick counts from 1, and repeats and reconnects soon, so that tests of loss do
// not wait.
func quick() *client.Dialer {
	return &client.Dialer{FirstSeq: 1, Repeat: 10 * time.Millisecond, MinBackoff: time.Millisecond,
		MaxBackoff: 20 * time.Millisecond}
}

// overBoth runs a test over UDP and over WebSocket.
func overBoth(t *testing.T, script func() []*clienttest.Step,
	test func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client)) {
	for _, network := range []string{"udp", "ws"} {
		t.Run(network, func(t *testing.T) {
			var steps []*clienttest.Step
			if script != nil {
				steps = script()
			}
			s := clienttest.NewServer(t, steps...)
			ctx := testContext(t)
			test(t, ctx, s, dial(t, ctx, quick(), address(s, network)))
		})
	}
}

func address(s *clienttest.Server, network string) string {
	if network == "udp" {
		return s.UDP()
	}
	return s.WebSocket()
}

func dial(t testing.TB, ctx context.Context, d *client.Dialer, address string) *client.Client {
	t.Helper()
	c, err := d.Dial(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func update(fen string) wire.BoardUpdate { return wire.BoardUpdate{FEN: wire.Text(fen)} }

func move(uci string, board wamble.BoardID) func(p *wire.Packet) error {
	return func(p *wire.Packet) error {
		if got := p.Message.(*wire.PlayerMove).UCI.String(); got != uci || p.Board != board {
			return fmt.Errorf("%s on board %d, want %s on %d", got, p.Board, uci, board)
		}
		return nil
	}
}

func TestHelloAndPlay(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlPlayerMove).Where(move("e2e4", 1)).AnswerWith(
				wire.Header{Board: 8, Flags: wire.FlagBoardIs960}, update("8/8/8/8/8/8/8/8 b"),
				wire.Int(wire.KeySessionCaps, 5), wire.Int(wire.KeyReservationReservedAt, 1700000000),
				wire.Int(wire.KeyLastMoveFrom, 12), wire.Int(wire.KeyLastMoveTo, 28),
				wire.Int(wire.KeyPredictionMaxPending, 64), wire.String(wire.KeyPredictionSource, "tree"),
				wire.String(wire.KeyBoardFEN, "8/8/8/8/8/8/8/8 b - - 3 9"), wire.Int(wire.KeyBoardVersion, 17)),
			clienttest.Expect(wire.CtrlPlayerMove).Where(move("e7e5", 8)).Deny(wamble.MoveRejected,
				"move rejected (status=3)"),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		if got, want := c.Token(), clienttest.SessionToken(1); got != want {
			t.Errorf("token %v, want %v", got, want)
		}
		if b := c.Board(); b.ID != 1 || b.FEN != clienttest.StartFEN || b.Chess960 {
			t.Errorf("board %+v after hello", b)
		}
		b, err := c.Play(ctx, "e2e4")
		if err != nil {
			t.Fatal(err)
		}
		if b.ID != 8 || b.FEN != "8/8/8/8/8/8/8/8 b - - 3 9" || !b.Chess960 || b.Version != 17 ||
			b.ReservedAt.Unix() != 1700000000 || b.LastMove == nil ||
			*b.LastMove != (client.Squares{From: 12, To: 28}) {
			t.Errorf("board %+v", b)
		}
		if got := c.Session(); got.Board != b || got.Caps != 5 || got.MaxPending != 64 ||
			got.PredictionSource != "tree" {
			t.Errorf("session %+v", got)
		}
		_, err = c.Play(ctx, "e7e5")
		var d *wamble.Denied
		if !errors.As(err, &d) || d.Code != wamble.MoveRejected || d.Reason != "move rejected (status=3)" ||
			d.Blocking {
			t.Errorf("refused move: %v", err)
		}
		if client.DeniedCode(err) != wamble.MoveRejected || client.DeniedCode(ctx.Err()) != 0 {
			t.Error("DeniedCode")
		}
		if _, err := c.Play(ctx, "e2e4e5e6"); !errors.Is(err, wire.ErrTooLong) {
			t.Errorf("long move: %v", err)
		}
		if err := c.Goodbye(ctx); err != nil {
			t.Error(err)
		}
		if _, err := c.Play(ctx, "e2e4"); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after Goodbye: %v", err)
		}
		if err := c.Goodbye(ctx); !errors.Is(err, client.ErrClosed) {
			t.Errorf("second Goodbye: %v", err)
		}
	})
}

func TestResumeByToken(t *testing.T) {
	s := clienttest.NewServer(t)
	ctx := testContext(t)
	first := dial(t, ctx, quick(), s.UDP())
	token, board := first.Token(), first.Board()
	first.Close()
	for _, network := range []string{"udp", "ws"} {
		d := quick()
		d.Token = token
		again := dial(t, ctx, d, address(s, network))
		if again.Token() != token || again.Board().ID != board.ID {
			t.Errorf("%s: resumed as %v on board %d", network, again.Token(), again.Board().ID)
		}
	}
	d := quick()
	d.Token = wamble.Token{9}
	if c := dial(t, ctx, d, s.UDP()); c.Token() == d.Token || c.Token().IsZero() {
		t.Errorf("an unknown token was kept: %v", c.Token())
	}
}

func TestHelloRefused(t *testing.T) {
	for _, network := range []string{"udp", "ws"} {
		s := clienttest.NewServer(t, clienttest.Expect(wire.CtrlClientHello).
			Deny(wamble.UnsupportedVersion, "upgrade required", wire.Int(wire.KeyErrorBlocking, 1)))
		_, err := quick().Dial(testContext(t), address(s, network))
		var d *wamble.Denied
		if !errors.As(err, &d) || d.Code != wamble.UnsupportedVersion || !d.Blocking {
			t.Errorf("%s: %v", network, err)
		}
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel() // it waits for servers that do not answer
	for _, address := range []string{"", "host:8888", "http://host/", "udp://host", "udp://host:1/path", "ws://",
		"%zz"} {
		if _, err := client.Dial(t.Context(), address); err == nil || !strings.Contains(err.Error(), "server address") {
			t.Errorf("%q: %v", address, err)
		}
	}
	// A server that does not answer.
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := quick().Dial(t.Context(), "udp://"+silent.LocalAddr().String()); !errors.Is(err, client.ErrTimeout) {
		t.Errorf("silent server: %v, want %v", err, client.ErrTimeout)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := client.Dial(ctx, "udp://"+silent.LocalAddr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent server, short context: %v", err)
	}
	// A port without a server.
	address := silent.LocalAddr().String()
	silent.Close()
	if _, err := quick().Dial(t.Context(), "udp://"+address); !errors.Is(err, client.ErrTimeout) {
		t.Errorf("no server: %v, want %v", err, client.ErrTimeout)
	}
	if _, err := quick().Dial(t.Context(), "ws://"+address); err == nil {
		t.Error("no server over WebSocket: no error")
	}
}

func TestNoSession(t *testing.T) {
	s := clienttest.NewServer(t,
		clienttest.Expect(wire.CtrlListProfiles).Answer(0, wire.ProfilesList{Names: wire.Text("a,b")}))
	ctx := testContext(t)
	d := quick()
	d.NoSession = true
	c := dial(t, ctx, d, s.UDP())
	if names, err := c.Profiles(ctx); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := c.Play(ctx, "e2e4"); !errors.Is(err, client.ErrNoSession) {
		t.Errorf("Play: %v", err)
	}
	for _, h := range s.Received() {
		if h.Ctrl == wire.CtrlClientHello {
			t.Error("a hello was said")
		}
	}
}

func TestContextEndsACall(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			clienttest.Expect(wire.CtrlListProfiles),
			clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w")),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		short, cancel := context.WithCancel(ctx)
		go func() {
			for len(s.Received()) < 2 {
				runtime.Gosched()
			}
			cancel()
		}()
		if _, err := c.Profiles(short); !errors.Is(err, context.Canceled) {
			t.Errorf("unanswered: %v", err)
		}
		if _, err := c.Profiles(short); !errors.Is(err, context.Canceled) {
			t.Errorf("dead context: %v", err)
		}
		if b, err := c.Play(ctx, "e2e4"); err != nil || b.ID != 2 {
			t.Errorf("the next call: %+v, %v", b, err)
		}
	})
}

func TestCloseEndsCalls(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{clienttest.Expect(wire.CtrlListProfiles)}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		results := make(chan error)
		for range 3 { // one under way, two in line
			go func() {
				_, err := c.Profiles(ctx)
				results <- err
			}()
		}
		for len(s.Received()) < 2 {
			runtime.Gosched()
		}
		c.Close()
		for range 3 {
			if err := <-results; !errors.Is(err, client.ErrClosed) {
				t.Errorf("%v, want %v", err, client.ErrClosed)
			}
		}
		if _, err := c.Event(ctx); !errors.Is(err, client.ErrClosed) {
			t.Errorf("Event: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

func TestConcurrentCalls(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		var steps []*clienttest.Step
		for range 40 {
			steps = append(steps, clienttest.Expect(wire.CtrlListProfiles).Answer(0,
				wire.ProfilesList{Names: wire.Text("open")}))
		}
		return steps
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		results := make(chan error)
		for range 40 {
			go func() {
				names, err := c.Profiles(ctx)
				if err == nil && (len(names) != 1 || names[0] != "open") {
					err = fmt.Errorf("got %q", names)
				}
				results <- err
			}()
		}
		for range 40 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

// No goroutine is left when clients are closed, at whatever moment.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		s, err := clienttest.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx := testContext(t)
		for _, network := range []string{"udp", "ws"} {
			for range 5 {
				c, err := quick().Dial(ctx, address(s, network))
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := quick().Dial(ctx, s.UDP()); err == nil {
			t.Error("dialled with a dead context")
		}
	}()
	end := time.Now().Add(patience)
	for runtime.NumGoroutine() > before && time.Now().Before(end) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after:\n%s", before, after, buf[:runtime.Stack(buf, true)])
	}
}
