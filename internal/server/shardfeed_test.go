package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/sqlite"
)

// TestShardsFeed: a reader of the feed gets every game that has ended in any shard once,
// behind one cursor, over a kill.
func TestShardsFeed(t *testing.T) {
	t.Parallel()
	dir, text := t.TempDir(), staying(t, conf(`(def shards 4) (def max-moves-per-board 6)`))
	s := spawn(t, dir, text)
	db, err := sqlite.Open(sqlite.Options{Path: dir + "/games.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cursor, told := "", map[wamble.BoardID]int{}
	follow := func() {
		for last := "-"; last != cursor; {
			resp, err := http.Get("http://127.0.0.1:" + s.port + "/api/finished?limit=3&after=" + cursor)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s, %v", resp.Status, body, err)
			}
			for line := range strings.Lines(string(body)) {
				var g struct{ Board wamble.BoardID }
				if err := json.Unmarshal([]byte(line), &g); err != nil {
					t.Fatal(err)
				}
				told[g.Board]++
			}
			last, cursor = cursor, resp.Header.Get("Wamble-Cursor")
		}
	}
	c := spread(t, s.address())
	c.play()
	for range 3 {
		c.more(t, 300)
		follow()
	}
	s.kill()
	s = spawn(t, dir, text)
	c.more(t, 300)
	c.finish()
	var ended map[wamble.BoardID]bool
	until(t, "the reader has all games", func() bool {
		follow()
		ended = finished(t, db)
		return len(told) >= len(ended)
	})
	s.end()
	for id := range ended {
		if told[id] != 1 {
			t.Errorf("the reader was told %d times of board %d", told[id], id)
		}
	}
	shards := map[int]bool{}
	for _, p := range c.players {
		for _, m := range p.played {
			if m.ply == 6 {
				shards[p.c.Token().Shard(4)] = true
			}
		}
	}
	if len(told) != len(ended) || len(shards) != 4 {
		t.Errorf("the reader was told of %d games, %d have ended in %d shards", len(told), len(ended), len(shards))
	}
}

// finished returns the games that have ended.
func finished(t testing.TB, db store.Queries) map[wamble.BoardID]bool {
	t.Helper()
	list := map[wamble.BoardID]bool{}
	for g, err := range db.Games(t.Context(), wamble.GameFilter{Finished: true}) {
		if err != nil {
			t.Fatal(err)
		}
		list[g.ID] = true
	}
	return list
}
