package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"wamble/internal/host"
	"wamble/internal/prooftest"
	"wamble/internal/watchtest"
)

// TestBotsFinishAGame: four bots with a real Stockfish play a game to its end on a
// real server, and say goodbye when they are interrupted.
func TestBotsFinishAGame(t *testing.T) {
	hearInterrupts(t)
	s := startServed(t, t.TempDir(), `(def min-boards 4) (def boards-per-player 1) (def durability "write")
(def rate-limit-ip-requests-per-sec 0) (def rate-limit-requests-per-sec 0)`)
	status := s.ready()
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
	watchtest.Until(t, "a game is finished", func() bool {
		r, err := http.Get("http://" + status.Profiles[0].HTTP + "/api/finished?last=1")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return err == nil && strings.Contains(string(text), `"plies":`)
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
	s.until("the sessions have ended", func() bool {
		return host.Ask(t.Context(), s.data, "status", nil, &status) == nil && status.Profiles[0].Sessions == 0
	})
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}
