package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"wamble"
	"wamble/client"
)

// joined lets players join one after another until one is refused, or most are there.
func joined(t *testing.T, h *here, d client.Dialer, most int) (list []*client.Client, denied *wamble.Denied) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(list) < most {
		one := *dialer(wamble.Token{})
		one.Bot = d.Bot
		c, err := one.Dial(ctx, "ws://"+h.Addresses().HTTP.String()+"/ws")
		if errors.As(err, &denied) {
			break
		}
		if errors.Is(err, client.ErrTimeout) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		list = append(list, c)
	}
	return list, denied
}

// shardsOf returns how many players are in each of four shards.
func shardsOf(list []*client.Client) (n [4]int) {
	for _, c := range list {
		n[c.Token().Shard(4)]++
	}
	return n
}

// TestShardsLimits: limits that protect the whole server count exactly over all shards: for
// players to the last one.
func TestShardsLimits(t *testing.T) {
	t.Parallel()
	limit := func(name, options string, bot bool, most, perMinute int, want string) {
		t.Run(name, func(t *testing.T) {
			h := serve(t, Options{}, conf(`(def shards 4)`+options)).ready()
			began := time.Now()
			list, denied := joined(t, h, client.Dialer{Bot: bot}, 4*most)
			later := 0
			if perMinute > 0 {
				later = 1 + int(time.Since(began).Minutes()*float64(perMinute))
			}
			if len(list) < most || len(list) > most+later || denied == nil || denied.Reason != want {
				t.Errorf("%d players joined (%v), want %d; then %v, want %q", len(list), shardsOf(list), most, denied,
					want)
			}
			if n := shardsOf(list); n[0] == most {
				t.Errorf("all players are in one shard: %v", n)
			}
		})
	}
	t.Run("players", func(t *testing.T) {
		h := serve(t, Options{}, conf(`(def shards 4) (def max-players 14)`)).ready()
		list, _ := joined(t, h, client.Dialer{}, 20) // others leave for them
		players := 0
		for _, l := range h.shards() {
			players += l.runtime.Count().Players
		}
		if n := shardsOf(list); players > 14 || n[0] == len(list) {
			t.Errorf("%d players are present, want at most 14; they joined the shards %v", players, n)
		}
	})
	limit("new players of an address", "(def new-players-per-ip-per-min 14)", false, 14, 14,
		"too many new players from your address")
	limit("programs", "(def max-bots 14)", true, 14, 0, "there are enough bots at present")
	t.Run("boards", func(t *testing.T) {
		f := &file{conf(`(def shards 4)`)}
		h := serve(t, Options{Load: f.load}, f.text).ready()
		c := spread(t, h.address())
		c.full = true
		c.play()
		f.text = conf(`(def shards 4) (def boards-per-player 20) (def max-boards 100)`)
		if _, err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "the world is full", func() bool { return h.first().Figures(t.Context()).Gauges.Boards >= 90 })
		c.more(t, 400)
		c.finish()
		games := h.first().store
		until(t, "the database has everything", func() bool { return h.pending() == 0 })
		boards := 0
		for k := range 4 {
			for _, err := range games.LiveBoards(t.Context(), "default", k) {
				if boards++; err != nil {
					t.Fatal(err)
				}
			}
		}
		// The players want 320. Two shards may make the last one at the same moment, and some
		// may be under way for so long that they are not counted, on a slow machine more.
		if boards < 90 || boards > 200 {
			t.Errorf("there are %d boards, want 100", boards)
		}
	})
	t.Run("spectators", func(t *testing.T) {
		h := serve(t, Options{}, conf(`(def shards 4) (def max-spectators 10)`)).ready()
		list, _ := joined(t, h, client.Dialer{}, 14)
		watching := 0
		for _, c := range list {
			if _, err := c.Spectate(t.Context(), client.View{}); err == nil {
				watching++
			} else if client.DeniedCode(err) == 0 {
				t.Fatal(err)
			}
		}
		if n := shardsOf(list); watching != 10 || n[0] == 14 {
			t.Errorf("%d watch, want 10, in the shards %v", watching, n)
		}
	})
}
