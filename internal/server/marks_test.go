package server

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"wamble"
)

// TestBotsAreMarked: what a program has done is marked on its board, to spectators, and
// in its row of the leaderboard, over HTTP and in packets; what a person has done is not.
func TestBotsAreMarked(t *testing.T) {
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
		until(t, "he is stored", func() bool {
			_, err := s.first().store.Session(t.Context(), token)
			return err == nil
		})
		me := fmt.Sprintf(`"session":%s,`, p.ask(map[string]any{"ctrl": "GET_PLAYER_STATS"}).Ext["stats.target_session_id"])
		// Pages of ranks are cached for long: each player asks for one of his own.
		for _, path := range []string{fmt.Sprintf("/api/boards/%d", played), fmt.Sprintf("/api/leaderboard?limit=%d", 16-i)} {
			var got, row string
			until(t, path+" has him", func() (found bool) {
				got = fetch(t, base+path)
				_, row, found = strings.Cut(got, me)
				return found
			})
			row, _, _ = strings.Cut(row, "}")
			if marked := strings.Contains(row, `"bot":true`); marked != bot {
				t.Errorf("%s, bot %v: marked %v in %s", path, bot, marked, got)
			}
		}
		page := p.ask(map[string]any{"ctrl": "GET_LEADERBOARD", "payload": map[string]any{"type": 1, "limit": 16 - i}})
		if mask := string(page.Ext["leaderboard.bots"]); mask != "1" { // the bot came first
			t.Errorf("bot %v: the mask of bots is %s, want 1", bot, mask)
		}
	}
}
