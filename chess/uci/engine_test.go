package uci_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"wamble/chess"
	"wamble/chess/uci"
)

// engine starts a fake that misbehaves in one way.
func engine(t *testing.T, patience time.Duration, how string, args ...string) (*uci.Engine, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e, err := uci.Start(t.Context(),
		uci.Config{Command: append([]string{self, "engine", how}, args...), Patience: patience})
	if err == nil {
		t.Cleanup(func() { e.Close() })
	}
	return e, err
}

func good(t *testing.T, how string, args ...string) *uci.Engine {
	t.Helper()
	e, err := engine(t, time.Minute, how, args...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSearch(t *testing.T) {
	e := good(t, "good")
	if e.Name != "Fake 1" || e.Author != "nobody" {
		t.Errorf("got %q by %q", e.Name, e.Author)
	}
	if err := e.NewGame(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := e.Search(t.Context(), uci.Limit{Nodes: 1, Lines: 3}, chess.Start())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Move.String(); got != "e2e4" {
		t.Errorf("got %s, want e2e4", got)
	}
	if len(r.Lines) != 2 || r.Lines[0].Depth != 3 || r.Lines[1].Move.String() != "d2d4" || r.Lines[1].Score.Mate != -2 {
		t.Errorf("got lines %v, want e2e4 and d2d4, which loses in two", r.Lines)
	}
	start, err := chess.Chess960(0)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = e.Search(t.Context(), uci.Limit{Depth: 1}, start); err != nil || r.Lines[0].Score.Centipawns != 960 {
		t.Errorf("got %v, %v: the engine was not told that this is Chess960", r, err)
	}
	mated, err := chess.ParseFEN("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), uci.Limit{}, mated); err == nil {
		t.Error("a mate was searched")
	}
	m, _ := chess.Start().ParseUCI("e2e4")
	if _, err := e.Search(t.Context(), uci.Limit{}, chess.Start(), m, m); !errors.Is(err, chess.ErrIllegal) {
		t.Errorf("got %v, want an illegal move of the game", err)
	}
	if e.Close(); e.Ready(t.Context()) != uci.ErrClosed {
		t.Error("a closed engine answers")
	}
}

func TestOptions(t *testing.T) {
	e := good(t, "good")
	for _, tc := range []struct{ name, value, want string }{
		{"skill level", "7", ""},
		{"Skill Level", "21", `the option Skill Level of Fake 1 is a number from 0 to 20, not "21"`},
		{"UCI_Chess960", "yes", `the option UCI_Chess960 of Fake 1 is true or false, not "yes"`},
		{"Style", "very risky", ""},
		{"Style", "Dull", `the option Style of Fake 1 is one of Solid, Very Risky, not "Dull"`},
		{"Clear Hash", "", ""},
		{"Clear Hash", "1", `the option Clear Hash of Fake 1 takes no value, not "1"`},
		{"Log File", "a\nquit", `the option Log File of Fake 1 is one line of text, not "a\nquit"`},
		{"Hash", "16", `the engine Fake 1 has no option "Hash"`},
	} {
		err := e.Set(tc.name, tc.value)
		if got := errorText(err); got != tc.want {
			t.Errorf("%s %s: got %s, want %s", tc.name, tc.value, got, tc.want)
		}
	}
	if err := e.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBadStart: an engine that does not start up is an error, and leaves no process.
func TestBadStart(t *testing.T) {
	if _, err := engine(t, 50*time.Millisecond, "deaf"); !errors.Is(err, uci.ErrTimeout) {
		t.Errorf("deaf: got %v, want %v", err, uci.ErrTimeout)
	}
	_, err := engine(t, time.Minute, "dies at the start")
	if !errors.Is(err, uci.ErrExited) || !strings.HasSuffix(err.Error(), `(exit status 3); it said "no net file"`) {
		t.Errorf("dies: got %v", err)
	}
	if _, err := uci.Start(t.Context(), uci.Config{Command: []string{"no-such-engine-here"}}); !errors.Is(err,
		exec.ErrNotFound) {
		t.Errorf("no program: got %v", err)
	}
	if _, err := uci.Start(t.Context(), uci.Config{}); err == nil {
		t.Error("no command: started")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	self, _ := os.Executable()
	if _, err := uci.Start(ctx, uci.Config{Command: []string{self, "engine", "deaf"}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
}

// TestMisbehaviour: every fault of an engine in a search is a clear error, and the next
// engine plays.
func TestMisbehaviour(t *testing.T) {
	for _, tc := range []struct {
		how      string
		patience time.Duration
		want     error
	}{
		{"dies", time.Minute, uci.ErrExited},
		{"hangs", 300 * time.Millisecond, uci.ErrTimeout},
		{"floods", time.Minute, uci.ErrFlood},
		{"endless line", time.Minute, uci.ErrFlood},
		{"illegal", time.Minute, uci.ErrIllegal},
		{"nonsense", time.Minute, uci.ErrIllegal},
	} {
		t.Run(tc.how, func(t *testing.T) {
			t.Parallel()
			e, err := engine(t, time.Minute, tc.how)
			if err != nil {
				t.Fatal(err)
			}
			e.SetPatience(tc.patience)
			if _, err := e.Search(t.Context(), uci.Limit{Time: time.Millisecond}, chess.Start()); !errors.Is(err,
				tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			_, err = e.Search(t.Context(), uci.Limit{}, chess.Start())
			if !errors.Is(err, tc.want) {
				t.Errorf("after that: got %v, want %v", err, tc.want)
			}
			if _, err := good(t, "good").Search(t.Context(), uci.Limit{}, chess.Start()); err != nil {
				t.Errorf("the next engine: %v", err)
			}
		})
	}
}

// TestStop: an engine that thinks too long is stopped, and its move counts; one that is
// stopped because its caller has given up plays on.
func TestStop(t *testing.T) {
	e := good(t, "stops")
	e.SetSlack(20 * time.Millisecond)
	r, err := e.Search(t.Context(), uci.Limit{Depth: 50}, chess.Start())
	if err != nil || r.Move.String() != "g1f3" {
		t.Fatalf("got %v, %v, want g1f3", r, err)
	}
	e = good(t, "stops")
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := e.Search(ctx, uci.Limit{Depth: 50}, chess.Start())
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
		}
	}
	if err := e.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReadsNothing: an engine that does not read its input cannot block its user.
func TestReadsNothing(t *testing.T) {
	e := good(t, "reads nothing")
	e.SetPatience(50 * time.Millisecond)
	value := strings.Repeat("x", 1000)
	var err error
	for i := 0; err == nil && i < 1<<20; i++ {
		err = e.Set("Log File", value)
	}
	if !errors.Is(err, uci.ErrTimeout) {
		t.Errorf("got %v, want %v", err, uci.ErrTimeout)
	}
}

// TestChildrenEnd: an engine's child processes end with it.
func TestChildrenEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := good(t, "has a child", l.Addr().String())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("got %d, %v, want the end of the connection (%v)", n, err, io.EOF)
	}
}
