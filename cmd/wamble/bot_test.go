package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/prooftest"
	"wamble/internal/watchtest"
)

// TestBotsFinishAGame: four bots with a real Stockfish play a game to its end on a
// real server, in chess and in Chess960, and say goodbye when they are interrupted.
func TestBotsFinishAGame(t *testing.T) {
	hearInterrupts(t)
	t.Run("chess", func(t *testing.T) {
		if pgn := finishAGame(t, ""); strings.Contains(pgn, "Chess960") {
			t.Errorf("they played %s", pgn)
		}
	})
	t.Run("Chess960", func(t *testing.T) {
		if pgn := finishAGame(t, "(def chess960-interval 1)"); !strings.Contains(pgn, `[Variant "Chess960"]`) {
			t.Errorf("they played %s", pgn)
		}
	})
}

// finishAGame lets bots play on a server with a configuration until a game has ended,
// and returns that.
func finishAGame(t *testing.T, conf string) (pgn string) {
	s := startServed(t, t.TempDir(), `(def min-boards 4) (def boards-per-player 1) (def durability "write")
(def rate-limit-ip-requests-per-sec 0) (def rate-limit-requests-per-sec 0)`+conf)
	status := s.ready()
	get := func(path string) string {
		r, err := http.Get("http://" + status.Profiles[0].HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := &watchtest.Log{}
	bot := &exec.Cmd{Path: exe, Stderr: said, Args: []string{"wamble", "bot", "--engine", prooftest.Stockfish(t),
		"--seats", "4", "--nodes", "20", "--skill", "0", "--pace", "0s", "udp://" + status.Profiles[0].UDP}}
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bot.Process.Kill() })
	ended := regexp.MustCompile(`"board":([0-9]+),.*"plies":`)
	watchtest.Until(t, "a game is finished", func() bool {
		game := ended.FindStringSubmatch(get("/api/finished?last=1"))
		if game != nil {
			pgn = get("/api/boards/" + game[1] + "/pgn")
		}
		return game != nil
	}, said)
	bot.Process.Signal(syscall.SIGINT)
	if err := bot.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"Stockfish", ", seats 4\n", "wamble: saying goodbye", "wamble: 0 seated, "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it did not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said.String(), "no engine has a move") {
		t.Errorf("the engine did not play it:\n%s", said)
	}
	s.until("the sessions have ended", func() bool {
		return admin.Ask(t.Context(), s.data, "status", nil, &status) == nil && status.Profiles[0].Sessions == 0
	})
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	return pgn
}

// TestBotFindsServer: without an address a bot plays at the server of this machine, which is
// on another port than the default one.
func TestBotFindsServer(t *testing.T) {
	hearInterrupts(t)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	s := startServed(t, filepath.Join(state, "wamble"))
	status := s.ready()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := &watchtest.Log{}
	bot := &exec.Cmd{Path: exe, Stderr: said, Args: []string{"wamble", "bot", "--pace", "10ms"}}
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bot.Process.Kill() })
	watchtest.Until(t, "it plays there", func() bool {
		return admin.Ask(t.Context(), s.data, "status", nil, &status) == nil && status.Profiles[0].Moves > 0
	}, said)
	bot.Process.Signal(syscall.SIGINT)
	if err := bot.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, said)
	}
}

// TestEngineAmongGames: an engine that is installed where root does not look is named.
func TestEngineAmongGames(t *testing.T) {
	before := gamesDir
	t.Cleanup(func() { gamesDir = before })
	gamesDir = t.TempDir()
	writeFile(t, filepath.Join(gamesDir, "no-such-engine"), "")
	for name, told := range map[string]bool{"no-such-engine": true, "no-other-engine": false} {
		var out strings.Builder
		code := run([]string{"bot", "--engine", name}, strings.NewReader(""), io.Discard, &out)
		hint := strings.Contains(out.String(), "; --engine "+gamesDir+"/"+name+" names the one that is there")
		if code != 1 || hint != told || !strings.Contains(out.String(), "not found") {
			t.Errorf("%s: got %d, %q", name, code, out.String())
		}
	}
}
