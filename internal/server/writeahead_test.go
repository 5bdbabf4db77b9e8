package server

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wamble"
	"wamble/internal/profile"
)

const (
	smallAhead   = "; boards are written ahead in a small world, too\n" // in a configuration
	keepDeferred = "keep boards deferred"                               // the trouble of a process that leaves boards deferred
	deferredSaid = "boards are deferred: "                              // it says then
)

func useWriteAhead(dir string) {
	if text, _ := os.ReadFile(filepath.Join(dir, "test.conf")); strings.Contains(string(text), smallAhead) {
		profile.AheadOptions.From, profile.AheadOptions.Keep = 1000, 100
	}
}

// letGo says what is deferred, and lets the first profile take it at SIGUSR1.
func (s *Server) letGo(ctx context.Context) {
	wishes := make(chan os.Signal, 1)
	signal.Notify(wishes, syscall.SIGUSR1)
	if s.WaitReady(ctx) != nil {
		return
	}
	sup := s.profiles()[0]
	say := func(p *profile.Profile) { fmt.Fprintln(os.Stderr, deferredSaid+fmt.Sprint(p.Adopting())) }
	sup.shards[0].runtime.Do(ctx, say)
	select {
	case <-wishes:
		sup.shards[0].runtime.Do(ctx, func(p *profile.Profile) {
			say(p)
			profile.AheadOptions.Part = 128
		})
	case <-ctx.Done():
	}
}

// TestDeferredBoards: a server that was handed most of its boards ahead hands over again,
// stops or is killed before it has read them. Players go on, and no board is missing or made
// twice.
func TestDeferredBoards(t *testing.T) {
	const boards = 3000
	restart := func(end func(i *image)) func(*testing.T, *image) {
		return func(t *testing.T, i *image) {
			end(i)
			i.write("trouble", "")
			i.launch()
		}
	}
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, i *image)
	}{
		{"handoff", func(t *testing.T, i *image) {
			i.write("trouble", "")
			before := strings.Count(i.log.String(), "handing over")
			answer := make(chan error)
			go func() {
				_, err := i.handOff("")
				answer <- err
			}()
			until(t, "the second handoff has begun",
				func() bool { return strings.Count(i.log.String(), "handing over") > before })
			i.cmd.Process.Signal(syscall.SIGUSR1)
			if err := <-answer; err != nil {
				t.Errorf("the second handoff: %v", err)
			}
			if n := strings.Count(i.log.String(), deferredSaid+"true"); n != 2 {
				t.Errorf("boards were deferred %d times, want 2", n)
			}
		}},
		{"stop", restart(func(i *image) { i.end() })},
		{"kill", restart(func(i *image) { i.kill() })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			least := fmt.Sprintf("(def min-boards %d)", boards)
			text := staying(t, conf(smallAhead+least+fmt.Sprintf(`(def log-level "info") (def max-boards %d)`, boards)))
			i := spawnImage(t, text)
			i.write("trouble", keepDeferred)
			until(t, "the boards are there", func() bool { return boardsOf(i.status()) == boards })
			c := gather(t, i.address(), 4)
			tokens := map[*player]wamble.Token{}
			for _, p := range c.players {
				tokens[p] = p.c.Token()
			}
			c.play()
			c.more(t, 50)
			i.write("test.conf", strings.Replace(text, least, "(def min-boards 8)", 1)) // nobody needs what is deferred
			if _, err := i.handOff(""); err != nil {
				t.Fatal(err)
			}
			c.more(t, 50)
			newcomer := join(t, i.address(), wamble.Token{})
			if !newcomer.move(t.Context()) {
				t.Error("a new player cannot play")
			}
			i.says(deferredSaid + "true")
			tc.do(t, i)
			c.more(t, 50)
			c.finish()
			for _, p := range c.players {
				if p.c.Token() != tokens[p] {
					t.Error("a player has another token")
				}
			}
			n := boardsOf(i.status()) // some games are over
			i.end()
			if stored := storedBoards(t, i.dir); stored != n || n > boards || n < boards*9/10 {
				t.Errorf("%d boards of %d, and the store has %d", n, boards, stored)
			}
			c.players = append(c.players, newcomer)
			verifySQLite(t, i.dir, c)
		})
	}
}

// storedBoards counts the boards in the store that are not over.
func storedBoards(t *testing.T, dir string) (n int) {
	t.Helper()
	store := openSQLite(t, dir)
	for _, err := range store.LiveBoards(t.Context(), "default", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
