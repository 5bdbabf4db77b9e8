package bot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/chess/uci"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/internal/watchtest"
	"wamble/wire"
)

// TestMain runs this binary as an engine if its arguments ask for it: a process that finds no
// file of its second argument makes one, and misbehaves in its first search.
func TestMain(m *testing.M) {
	if len(os.Args) != 4 || os.Args[1] != "engine" {
		os.Exit(m.Run())
	}
	_, err := os.Stat(os.Args[3])
	bad := err != nil
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch word, _, _ := strings.Cut(in.Text(), " "); word {
		case "uci":
			fmt.Println("id name Fake\nuciok")
		case "isready":
			fmt.Println("readyok")
		case "go":
			move := "bestmove e2e4"
			if bad {
				os.WriteFile(os.Args[3], nil, 0o600)
				switch os.Args[2] {
				case "dies":
					os.Exit(1)
				case "hangs":
					time.Sleep(time.Hour) // until it is killed; select {} would be found to be a deadlock
				case "cheats":
					move = "bestmove e2e5"
				}
			}
			fmt.Println(move)
		case "quit":
			os.Exit(0)
		}
	}
}

// TestEngineStartsAgain: an engine that fails in a search is started again, and makes
// the move.
func TestEngineStartsAgain(t *testing.T) {
	for how, want := range map[string]error{"dies": uci.ErrExited, "hangs": uci.ErrTimeout, "cheats": uci.ErrIllegal} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			o := EngineOptions{
				Config: uci.Config{Command: []string{self, "engine", how, filepath.Join(t.TempDir(), "mark")},
					Patience: time.Minute},
				Log: func(s string) { said = append(said, s) },
			}
			if how == "hangs" {
				o.Patience = time.Second
			}
			e, err := StartEngines(t.Context(), o)
			for errors.Is(err, uci.ErrTimeout) { // the machine is that slow
				o.Patience *= 2
				e, err = StartEngines(t.Context(), o)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.options.Patience = time.Minute // of the process that does not hang
			m, err := e.Choose(t.Context(), chess.Start())
			if err != nil || m.String() != "e2e4" {
				t.Errorf("got %s, %v, want e2e4", m, err)
			}
			if len(said) != 1 || !strings.Contains(said[0], want.Error()) {
				t.Errorf("said %q, want %v", said, want)
			}
		})
	}
}

// TestEngineThatNeverPlays: after a few tries the built-in player moves.
func TestEngineThatNeverPlays(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	e, err := StartEngines(t.Context(), EngineOptions{ // its mark cannot be made
		Config: uci.Config{Command: []string{self, "engine", "dies", filepath.Join(t.TempDir(), "no", "mark")},
			Patience: time.Minute},
		Log: func(s string) { said = append(said, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if m, err := e.Choose(t.Context(), chess.Start()); err != nil || !chess.Start().IsLegal(m) {
		t.Errorf("got %s, %v, want a legal move", m, err)
	}
	if len(said) != tries+1 || !strings.Contains(said[tries], "the built-in player makes it") {
		t.Errorf("said %q", said)
	}
}

// TestEngineWithoutChess960: an engine that has no such option is not asked for moves of
// Chess960, which the built-in player makes, and goes on with the others.
func TestEngineWithoutChess960(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	e, err := StartEngines(t.Context(), EngineOptions{
		Config: uci.Config{Command: []string{self, "engine", "good", filepath.Join(t.TempDir(), "mark")},
			Patience: time.Minute},
		Log: func(s string) { said = append(said, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p, err := chess.Chess960(0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if m, err := e.Choose(t.Context(), p); err != nil || !p.IsLegal(m) {
			t.Errorf("got %s, %v, want a legal move", m, err)
		}
	}
	if len(said) != 1 || said[0] != "the engine does not play Chess960: the built-in player does" {
		t.Errorf("said %q", said)
	}
	if m, err := e.Choose(t.Context(), chess.Start()); err != nil || m.String() != "e2e4" || len(said) != 1 {
		t.Errorf("got %s, %v, want e2e4; said %q", m, err, said)
	}
}

func TestStartEngines(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := uci.Config{Command: []string{self, "engine", "good", "mark"}, Patience: time.Minute}
	_, err = StartEngines(t.Context(), EngineOptions{Config: command, Set: [][2]string{{"UCI_Elo", "1500"}}})
	if err == nil || err.Error() != `the engine Fake has no option "UCI_Elo"` {
		t.Errorf("got %v, want that there is no such option", err)
	}
	e, err := StartEngines(t.Context(), EngineOptions{Config: command, Prefer: [][2]string{{"Threads", "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
}

// TestPick: better moves are played more often, bad ones hardly, and a mate is not
// given away.
func TestPick(t *testing.T) {
	r := uci.Result{Move: 1, Lines: []uci.Line{
		{Move: 1, Score: uci.Score{Centipawns: 30}}, {Move: 2, Score: uci.Score{Centipawns: 20}},
		{Move: 3, Score: uci.Score{Centipawns: -400}}}}
	count := map[chess.Move]int{}
	for i := range 1000 {
		count[pick(r, float64(i)/1000)]++
	}
	if count[1] <= count[2] || count[2] < 200 || count[3] > 1 {
		t.Errorf("got %v", count)
	}
	r.Lines[0].Score = uci.Score{Mate: 2}
	for i := range 1000 {
		if m := pick(r, float64(i)/1000); m != 1 {
			t.Fatalf("got %d instead of the mate", m)
		}
	}
	if m := pick(uci.Result{Move: 9}, 0.5); m != 9 {
		t.Errorf("without lines: got %d, want the engine's move", m)
	}
}

// TestRefusedForGood: a server that admits no bots ends the crowd.
func TestRefusedForGood(t *testing.T) {
	c := Pool{Player: Novice{}, Address: refusing(t)}
	err := c.Run(t.Context(), 2)
	if client.DeniedCode(err) != wamble.AccessDenied {
		t.Errorf("got %v, want that access is denied", err)
	}
}

// refusing returns the address of a server that admits no bots.
func refusing(t *testing.T) string {
	t.Helper()
	s, err := clienttest.Start(
		clienttest.Expect(wire.CtrlClientHello).Deny(wamble.AccessDenied, "no bots",
			wire.Int(wire.KeyErrorBlocking, 1)),
		clienttest.Expect(wire.CtrlClientHello).Deny(wamble.AccessDenied, "no bots",
			wire.Int(wire.KeyErrorBlocking, 1)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.UDP()
}

// TestRefusedMove: a bot whose move is refused asks which board is its own, and plays on.
func TestRefusedMove(t *testing.T) {
	s, err := clienttest.Start(
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "not yours"),
		clienttest.Expect(wire.CtrlPlayerMove).Answer(7, wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/k7/2K5 w")}),
		clienttest.Expect(wire.CtrlPlayerMove).Answer(0, wire.BoardUpdate{}),
		clienttest.Expect(wire.CtrlClientGoodbye))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Pool{Player: Novice{}, Address: s.UDP()}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, 1) }()
	watchtest.Until(t, "two moves are made", func() bool { return c.Figures().Moves == 2 })
	if f := c.Figures(); f.Refused != 1 || f.Connected != 1 {
		t.Errorf("got %+v, want one refusal", f)
	}
	cancel()
	if err := errors.Join(<-ended, s.Close()); err != nil {
		t.Error(err)
	}
}

// TestRest: the time of a bot's move is its pace, plus or minus half of it, and includes the
// time that its player thought.
func TestPauseBetweenMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Pool{Pace: 2 * time.Second}
		least, most := time.Hour, time.Duration(0)
		for i := range 500 {
			start := time.Now()
			time.Sleep(time.Duration(i%2) * 900 * time.Millisecond) // the player thinks
			if err := c.awaitPace(t.Context(), start); err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			least, most = min(least, took), max(most, took)
		}
		if least < time.Second || least > 1100*time.Millisecond || most < 2900*time.Millisecond ||
			most >= 3*time.Second {
			t.Errorf("moves took from %v to %v, want from 1 s to 3 s", least, most)
		}
		start := time.Now()
		time.Sleep(time.Minute)
		if err := c.awaitPace(t.Context(), start); err != nil || time.Since(start) != time.Minute {
			t.Errorf("after a minute of thought: %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.awaitPace(ctx, time.Now()); !errors.Is(err, context.Canceled) {
			t.Errorf("a bot that is given up: %v", err)
		}
	})
}

// TestPace: the moves of a bot arrive at the server at its pace.
func TestPace(t *testing.T) {
	const moves, pace = 4, 50 * time.Millisecond
	times := make(chan time.Time, moves+1)
	note := func(*wire.Packet) error { times <- time.Now(); return nil }
	script := []*clienttest.Step{}
	for range moves {
		script = append(script, clienttest.Expect(wire.CtrlPlayerMove).Where(note).Answer(7,
			wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/k7/2K5 w")}))
	}
	s := clienttest.NewServer(t, append(script, clienttest.Expect(wire.CtrlPlayerMove).Where(note).Answer(0,
		wire.BoardUpdate{}), clienttest.Expect(wire.CtrlClientGoodbye))...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Pool{Player: Novice{}, Address: s.UDP(), Pace: pace}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, 1) }()
	before := <-times
	for range moves {
		at := <-times
		if d := at.Sub(before); d < pace/2 {
			t.Errorf("a move came %v after the one before it, want at least %v", d, pace/2)
		}
		before = at
	}
	watchtest.Until(t, "the last move is answered", func() bool { return c.Figures().Moves == moves+1 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
