package server

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wamble/client"
	"wamble/internal/bot"
	"wamble/internal/prooftest"
	"wamble/internal/watchtest"
)

// TestBotsOutliveARestart: bots play on when their server comes back.
func TestBotsOutliveARestart(t *testing.T) {
	t.Parallel()
	text, dir := staying(t, conf("")), t.TempDir()
	s := serve(t, Options{Dir: dir}, text).ready()
	pool := &bot.Pool{Address: "udp://" + s.Addresses().UDP.String(), Player: bot.Novice{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx, 3) }()
	watchtest.Until(t, "they play", func() bool { return pool.Figures().Moves > 30 })
	s.end()
	moves := pool.Figures().Moves
	serve(t, Options{Dir: dir}, text).ready()
	watchtest.Until(t, "they play on", func() bool { return pool.Figures().Moves > moves+30 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHouseBotsComeBack: house bots that were refused return when the host admits them.
func TestHouseBotsComeBack(t *testing.T) {
	t.Parallel()
	f := &file{conf("(def house-bots 2) (def max-bots 0)")}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	watchtest.Until(t, "both are refused",
		func() bool { return strings.Count(s.log.String(), "a house bot has left") >= 2 }, s.log)
	f.text = strings.Replace(f.text, "(def max-bots 0)", "(def max-bots 64)", 1)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	watchtest.Until(t, "both are here", func() bool { return s.first().Figures(t.Context()).Gauges.Bots == 2 }, s.log)
	s.end()
}

// TestHouseBotEngine: an engine of the host's choice plays for the house bots, at the
// configured strength. It runs only while they play; if it does not start, or is unset, the
// built-in player plays.
func TestHouseBotEngine(t *testing.T) {
	t.Parallel()
	engine := filepath.Join(t.TempDir(), "engine")
	script := "#!/bin/sh\necho $$ >$0.pid\ntee $0.told | " + prooftest.Stockfish(t) + "\n"
	if err := os.WriteFile(engine, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	told := func(words string) func() bool {
		return func() bool {
			text, err := os.ReadFile(engine + ".told")
			return err == nil && strings.Contains(string(text), words)
		}
	}
	f := &file{conf("(def house-bots 1) (def house-bot-elo 1400) (def house-bot-engine \"" + engine + "\")")}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	watchtest.Until(t, "it is told its strength", told("setoption name UCI_Elo value 1400"), s.log)
	watchtest.Until(t, "it thinks", told("go movetime 100"), s.log)
	watchtest.Until(t, "it moves", func() bool { return s.movesMade() > 0 }, s.log)
	text, err := os.ReadFile(engine + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(t.Context(), "udp://"+s.Addresses().UDP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	watchtest.Until(t, "it ends when somebody has come", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH },
		s.log)
	f.text = strings.Replace(f.text, engine, engine+"-of-nobody", 1)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Goodbye(t.Context()); err != nil {
		t.Fatal(err)
	}
	moves := s.movesMade()
	watchtest.Until(t, "the built-in player plays", func() bool {
		return strings.Contains(s.log.String(), "the built-in player plays for the house bots") && s.movesMade() > moves
	}, s.log)
	s.end()
}

// TestHandoffHouseBots: house bots say goodbye before a handoff: the next process has other
// ones, and not more of them.
func TestHandoffHouseBots(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, conf("(def house-bots 2)"))
	metric := func(name string) (line string) {
		token, err := os.ReadFile(filepath.Join(i.dir, "admin-token"))
		if err != nil {
			t.Fatal(err)
		}
		for line = range strings.Lines(fetchWith(t, "http://"+i.admin+"/metrics", strings.TrimSpace(string(token)))) {
			if strings.HasPrefix(line, name+"{") {
				return strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:])
			}
		}
		return ""
	}
	until(t, "two bots are here", func() bool { return metric("wamble_bots_present") == "2" })
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	until(t, "two others have come", func() bool { return metric("wamble_new_players_total") == "4" })
	if got := metric("wamble_bots_present"); got != "2" {
		t.Errorf("%s bots are here, want 2", got)
	}
	i.end()
}
