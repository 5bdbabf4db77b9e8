//go:build proof

package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/prooftest"
)

// reloadRounds is how often profiles come, move and go: 5 times, 100 with
// WAMBLE_SOAK.
func reloadRounds() int { return prooftest.Sized(5, 5, 100) }

// rover plays wherever a profile is served, and accepts every refusal. It records the
// accepted moves.
type rover struct {
	player
	lost int // visits that came to nothing
}

// visit plays some moves at an address.
func (r *rover) visit(t testing.TB, ctx context.Context, address string, token wamble.Token) wamble.Token {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := dialer(token).Dial(ctx, address)
	if err != nil {
		r.lost++
		return token
	}
	defer c.Close()
	for range 20 {
		b := c.Board()
		if b.ID == 0 || strings.Count(b.FEN, " ") < 5 {
			if _, err := c.Hello(ctx); err != nil {
				break
			}
			continue
		}
		uci, ply, ok := r.choose(b)
		if !ok {
			t.Errorf("board %d has no move", b.ID)
			break
		}
		if _, err := c.PlayOn(ctx, b.ID, uci); err == nil {
			r.played = append(r.played, played{b.ID, ply, uci})
			continue
		} else if r.doubtful++; !errors.As(err, new(*wamble.Denied)) {
			break // and a refusal may come from another profile than the one that has played it
		}
		if _, err := c.Hello(ctx); err != nil {
			break
		}
	}
	return c.Token()
}

// TestReloadUnderLoad: profiles of a real process are added, removed, renamed,
// moved to other ports and swapped under load. The untouched one loses nothing:
// no move, no session, no answer.
func TestReloadUnderLoad(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	dir := t.TempDir()
	ports := freePorts(t, 6)
	text := profilesOn("still", ports[0], "a", ports[1], "b", ports[2])
	s := spawn(t, dir, text)
	udp, ws := gather(t, fmt.Sprintf("udp://127.0.0.1:%d", ports[0]), 8),
		gather(t, fmt.Sprintf("ws://127.0.0.1:%d/ws", ports[0]), 4)
	still := &crowd{players: append(udp.players, ws.players...)}
	tokens := map[*player]wamble.Token{}
	for _, p := range still.players {
		p.crowd, tokens[p] = still, p.c.Token()
	}
	still.play()

	ctx, stop := context.WithCancel(t.Context())
	var roving sync.WaitGroup
	visits, rovers := &atomic.Int64{}, []*rover{}
	for i := range 6 {
		r := &rover{player: player{t: t, rng: rand.New(rand.NewPCG(uint64(i), 7))}}
		rovers = append(rovers, r)
		roving.Go(func() {
			for token := (wamble.Token{}); ctx.Err() == nil; visits.Add(1) {
				token = r.visit(t, ctx, fmt.Sprintf("udp://127.0.0.1:%d", ports[1+r.rng.IntN(4)]), token)
			}
		})
	}
	reloads := 0
	reload := func(what string, pairs ...any) {
		t.Helper()
		text := profilesOn(append([]any{"still", ports[0]}, pairs...)...)
		if err := os.WriteFile(filepath.Join(dir, "reload.conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var r admin.Reloaded
		if err := admin.Ask(t.Context(), dir, "reload", nil, &r); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, s.log)
		}
		if len(r.Changes) == 0 {
			t.Errorf("%s: nothing has changed", what)
		}
		reloads++
		still.more(t, 20)
		want := visits.Load() + 1
		until(t, "others are visited", func() bool { return visits.Load() >= want })
	}
	for range reloadRounds() {
		reload("add", "a", ports[1], "b", ports[2], "c", ports[3])
		reload("rename", "d", ports[1], "b", ports[2], "c", ports[3])
		reload("move", "d", ports[1], "b", ports[4], "c", ports[3])
		reload("swap", "d", ports[4], "b", ports[1], "c", ports[3])
		reload("remove", "b", ports[1])
		reload("back", "a", ports[1], "b", ports[2])
	}
	stop()
	roving.Wait()
	still.finish()
	for _, p := range still.players {
		if p.doubtful+p.refused > 0 {
			t.Errorf("a player of the untouched profile was left in doubt %d times, refused %d times", p.doubtful,
				p.refused)
		}
		if p.c.Token() != tokens[p] {
			t.Error("a player of the untouched profile has lost their session")
		}
	}
	s.end()
	store := openSQLite(t, dir)
	still.verifyProfile(t, store, "still")
	lost, accepted, astray := 0, 0, 0
	for _, r := range rovers {
		lost += r.lost
		accepted += len(r.played)
		for _, m := range r.played {
			if b, err := store.Board(t.Context(), m.board); err != nil || m.ply > len(b.Moves) ||
				b.Moves[m.ply-1].UCI != m.uci {
				astray++
			}
		}
	}
	if astray != 0 || accepted == 0 {
		t.Errorf("%d of %d accepted moves of the others are not in the store", astray, accepted)
	}
	t.Logf("%d reloads, %d visits, %d of them in vain", reloads, visits.Load(), lost)
}
