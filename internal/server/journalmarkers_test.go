package server

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/profile"
)

// TestBotsAreMarked: a program's moves are marked on its board and to spectators, and it is
// ranked among programs, over HTTP and in packets; a person's are not.
func TestBotsAreMarked(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def min-boards 4)")).ready()
	base := "http://" + s.Addresses().HTTP.String()
	for i, bot := range []bool{true, false} {
		p := joinJSON(t, s)
		hello := map[string]any{"ctrl": "CLIENT_HELLO"}
		if bot {
			hello["ext"] = map[string]any{"hello.bot": 1}
		}
		at := p.ask(hello)
		played := at.Board
		p.move(at)
		seen := p.ask(map[string]any{"ctrl": "SPECTATE_GAME", "board_id": played})
		if marked := string(seen.Ext["board.bot"]) == "1"; marked != bot || seen.Board != played {
			t.Errorf("bot %v: spectators see %+v", bot, seen)
		}
		var token wamble.Token
		hex.Decode(token[:], []byte(at.Token))
		until(t, "the player is stored", func() bool {
			_, err := s.first().store.Session(t.Context(), token)
			return err == nil
		})
		me := fmt.Sprintf(`"session":%s,`,
			p.ask(map[string]any{"ctrl": "GET_PLAYER_STATS"}).Ext["stats.target_session_id"])
		// Pages of ranks are cached for long: each player asks for another page.
		of, other := "people", "bots"
		if bot {
			of, other = other, of
		}
		for _, path := range []string{fmt.Sprintf("/api/boards/%d", played),
			fmt.Sprintf("/api/leaderboard?limit=%d&of=%s", 16-i, of)} {
			var got, row string
			until(t, path+" has the player", func() (found bool) {
				got = fetch(t, base+path)
				_, row, found = strings.Cut(got, me)
				return found
			})
			row, _, _ = strings.Cut(row, "}")
			if marked := strings.Contains(row, `"bot":true`); marked != bot {
				t.Errorf("%s, bot %v: marked %v in %s", path, bot, marked, got)
			}
		}
		if got := fetch(t, fmt.Sprintf("%s/api/leaderboard?limit=%d&of=%s", base, 15-i, other)); strings.Contains(got,
			me) {
			t.Errorf("bot %v: ranked among %s: %s", bot, other, got)
		}
		for _, ofBots := range []bool{false, true} {
			ask := map[string]any{"ctrl": "GET_LEADERBOARD", "payload": map[string]any{"type": 1, "limit": 16 - i}}
			mask, rank := "", 0.0
			if ofBots {
				ask["ext"], mask = map[string]any{"leaderboard.bots": 1}, "1"
			}
			if bot == ofBots {
				rank = 1
			}
			page := p.ask(ask)
			if got := string(page.Ext["leaderboard.bots"]); got != mask || page.Payload["self_rank"] != rank {
				t.Errorf("bot %v: of bots %v, the mask is %q, want %q and rank %v: %v", bot, ofBots, got, mask, rank,
					page.Payload)
			}
		}
	}
}

// TestBotsStayMarked: a board shows which moves a program with an identity made, also after
// it has left, by what the store has.
func TestBotsStayMarked(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def min-boards 4)")).ready()
	dialer := client.Dialer{Bot: true}
	c, err := dialer.Dial(t.Context(), s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, private, _ := ed25519.GenerateKey(nil)
	b, err := c.Login(t.Context(), private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Play(t.Context(), "e2e4"); err != nil {
		t.Fatal(err)
	}
	stats, err := c.Stats(t.Context(), client.StatsOf{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Goodbye(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "it has left, and is stored", func() (gone bool) {
		s.first().shards[0].runtime.Do(t.Context(),
			func(p *profile.Profile) { gone = p.HandleOf(wamble.SessionID(stats.Session)) == "" })
		stored, err := s.first().store.Board(t.Context(), b.ID)
		return gone && err == nil && len(stored.Moves) == 1
	})
	got, err := readStore{s.first().store, s.first()}.Board(t.Context(), b.ID)
	if err != nil || len(got.Moves) != 1 || !got.Moves[0].Bot || got.Moves[0].Handle != stats.Handle {
		t.Errorf("got %+v, %v", got.Moves, err)
	}
}
