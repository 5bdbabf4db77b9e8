package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	tea "charm.land/bubbletea/v2"

	"wamble/client"
	"wamble/internal/play"
	"wamble/internal/terminal"
	"wamble/internal/watchtest"
)

// freePort returns a port that a server can have again after a restart: free for UDP and
// TCP, and below those that the kernel gives to clients.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		defer tcp.Close()
		udp, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		defer udp.Close()
		return strings.TrimPrefix(address, "127.0.0.1:")
	}
}

// TestPlayOnScreen: a player in a real terminal, at a real server that they did not have to
// name. They type their first move and click the second, are switched, change the size of
// their window, make a move while the server restarts, and leave their terminal as it was.
func TestPlayOnScreen(t *testing.T) {
	port := freePort(t)
	s := playServer(t, "(def port "+port+")")
	x := inTerminal(t, 100, 40, "play")
	x.sees("you are White · move 1")
	a, b := "1", "2" // as the server gives them
	if strings.Contains(x.String(), "Board 2") {
		a, b = b, a
	}
	x.sees("127.0.0.1:" + port)
	x.press("Nf\t")
	x.sees("> Nf3")
	x.press("\r")
	x.sees("Your Nf3 stays on board " + a + "; here is board " + b + ", you are White.")
	x.sees("Nf3 " + a + " waits for an answer")
	x.click(34, 21) // e2
	x.sees("• ")
	x.click(34, 15) // e4
	x.sees("Your e4 stays on board " + b + "; here is board " + a + ", you are Black.")

	x.resize(60, 20)
	x.sees("8 ♜ ♞ ♝ ♚ ♛ ♝ ♞ ♜ h g")
	for _, line := range strings.Split(x.String(), "\n")[2:10] {
		if n := len([]rune(line)); n < 2 || n > 60 || !strings.ContainsAny(line[:2], "12345678") {
			t.Errorf("a rank is %q", line)
		}
	}
	x.resize(100, 40)
	watchtest.Until(t, "the larger board is drawn", func() bool {
		lines := strings.Split(x.String(), "\n")
		return strings.Contains(lines[39], "F4 flip · tab completes") && strings.Contains(lines[24], " 8 ")
	}, x)

	// Only what a key changes is sent: no flicker, not even over a slow line.
	x.mu.Lock()
	written, cleared := x.screen.written, x.screen.cleared
	x.mu.Unlock()
	x.press("\x1b[A")
	x.sees("[")
	x.mu.Lock()
	written, cleared = x.screen.written-written, x.screen.cleared-cleared
	x.mu.Unlock()
	if written > 600 || cleared > 0 {
		t.Errorf("an arrow key sent %d bytes and cleared the screen %d times, want at most 600 and never", written,
			cleared)
	}

	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
	x.sees("reconnecting …")
	x.press("d5\r")
	x.sees("Your d5 is kept, and sent as soon as the server is back.")
	startServed(t, s.data, "(def port "+port+")", playConf)
	x.sees("Your d5 stays on board " + a + "; here is board ") // the next board is the server's choice
	watchtest.Until(t, "the first board has both moves, each once", func() bool {
		r, err := http.Get("http://127.0.0.1:" + port + "/api/boards/" + a)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return err == nil && strings.Count(string(text), `"uci":"g1f3"`) == 1 &&
			strings.Count(string(text), `"uci":"d7d5"`) == 1 && strings.Count(string(text), `"uci"`) == 2
	}, x)
	x.sees("Nf3 " + a + " answered d5")

	x.press("\x03")
	if err := x.ended(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, x)
	}
	if got := x.settings(); got != x.before {
		t.Errorf("the terminal is not as it was: got %+v, want %+v", got, x.before)
	}
	watchtest.Until(t, "all is written", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		m := x.screen.modes
		return !m["?1049"] && m["?25"] && !m["?1002"] && !m["?1006"] && !m["?2004"]
	}, x)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.screen.unknown) > 0 {
		t.Errorf("the terminal of this test does not know %q", x.screen.unknown)
	}
}

// TestPlainOnScreen: with --plain a terminal gets lines and no control sequences, as a screen
// reader needs it. The typed text is the terminal's own echo.
func TestPlainOnScreen(t *testing.T) {
	playServer(t)
	x := inTerminal(t, 200, 50, "play", "--plain")
	x.sees("White: king e1, queen d1, rooks a1 h1,")
	if got := x.settings(); got != x.before {
		t.Errorf("the terminal has other settings: got %+v, want %+v", got, x.before)
	}
	x.press("Nf3\r")
	x.sees("Your Nf3 stays on board ")
	x.sees("Black: king e8, queen d8, rooks a8 h8,")
	x.press("trail\r")
	x.sees(": waits for an answer")
	x.press("\x04") // the end of the input
	if err := x.ended(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, x)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.screen.escapes > 0 || x.screen.written == 0 {
		t.Errorf("%d of %d bytes command the terminal", x.screen.escapes, x.screen.written)
	}
}

// TestWatchOnScreen: the wall shows the boards of others, and one of them alone.
func TestWatchOnScreen(t *testing.T) {
	playServer(t)
	var out, errOut strings.Builder
	if code := run([]string{"play", "--plain", "--state", t.TempDir()}, strings.NewReader("e4\n"), &out,
		&errOut); code != 0 {
		t.Fatal(errOut.String())
	}
	x := inTerminal(t, 80, 24, "play", "--watch", "--ascii")
	x.sees("The wall, ")
	x.sees(" black")
	moved := regexp.MustCompile(`(\d) black`).FindStringSubmatch(x.String())[1]
	for board := '1'; string(board) != moved; board++ {
		x.press("\x1b[C")
	}
	x.sees(">" + moved + " black")
	x.press("\r")
	x.sees("Watching board " + moved + " - Black to move - move 1")
	x.press("e5\r")
	x.sees("is predicted.")
	x.sees("e5 1 yours")
	x.press("quit\r")
	if err := x.ended(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, x)
	}
}

// TestProgramOnScreen: a watcher sees that a program moved, on the wall and on the board
// alone.
func TestProgramOnScreen(t *testing.T) {
	s := playServer(t)
	c, err := (&client.Dialer{Bot: true}).Dial(t.Context(), "udp://"+s.ready().Profiles[0].UDP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	moved := c.Board().ID
	if _, err := c.Play(t.Context(), "e2e4"); err != nil {
		t.Fatal(err)
	}
	x := inTerminal(t, 90, 24, "play", "--watch", "--ascii")
	x.sees(fmt.Sprintf("%d black bot", moved))
	x.press(fmt.Sprintf("watch %d\r", moved))
	x.sees(fmt.Sprintf("Watching board %d - Black to move - move 1 - a program moved", moved))
	x.press("quit\r")
	if err := x.ended(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, x)
	}
}

// TestEndedOnScreen: the reason for the end of the session is still shown when the screen is
// restored.
func TestEndedOnScreen(t *testing.T) {
	s := screen{Model: terminal.New(play.New(play.Saved{}, nil, false), "here", false, true)}
	got, cmd := s.Update(play.Ended{Why: "you are banned"})
	if cmd == nil || cmd() != (tea.QuitMsg{}) {
		t.Error("it goes on")
	}
	last := got.(screen)
	if want := "The server has ended the session: you are banned."; !last.ended || last.Last() != want {
		t.Errorf("got %v, %q, want %q", last.ended, last.Last(), want)
	}
}
