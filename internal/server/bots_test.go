package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble/client"
	"wamble/internal/bot"
	"wamble/internal/profile"
	"wamble/internal/watchtest"
)

// TestBotsOutliveARestart: bots play on when their server comes back.
func TestBotsOutliveARestart(t *testing.T) {
	t.Parallel()
	text, dir := staying(t, conf("")), t.TempDir()
	s := serve(t, Options{Dir: dir}, text).ready()
	crowd := &bot.Crowd{Address: "udp://" + s.Addresses().UDP.String(), Player: bot.Novice{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- crowd.Run(ctx, 3) }()
	watchtest.Until(t, "they play", func() bool { return crowd.Figures().Moves > 30 })
	s.end()
	moves := crowd.Figures().Moves
	serve(t, Options{Dir: dir}, text).ready()
	watchtest.Until(t, "they play on", func() bool { return crowd.Figures().Moves > moves+30 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHouseBots: they are here while nobody else is, step back one by one as people
// come, and end with the server.
func TestHouseBots(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def house-bots 3)")).ready()
	bots := func(want int) func() bool {
		return func() (ok bool) {
			s.first().Do(t.Context(), func(p *profile.Profile) { ok = p.Gauges().Bots == want })
			return ok
		}
	}
	watchtest.Until(t, "three bots are here", bots(3), s.log)
	c, err := client.Dial(t.Context(), "udp://"+s.Addresses().UDP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	watchtest.Until(t, "one steps back", bots(2), s.log)
	if err := c.Goodbye(t.Context()); err != nil {
		t.Fatal(err)
	}
	watchtest.Until(t, "it comes back", bots(3), s.log)
	s.end()
}

// TestHandoffHouseBots: house bots say goodbye before a handoff: those of the next image
// are others, and there are not more of them.
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
