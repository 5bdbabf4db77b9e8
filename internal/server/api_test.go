package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/record"
)

// TestReadRoutes: a game is played to its end over packets, and read over HTTP: while it
// runs, when it is over, in the feed, on the leaderboard; and after a restart the cursor of
// the feed is still valid.
func TestReadRoutes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := conf("(def min-boards 2) (def max-boards 2) (def max-moves-per-board 6)")
	s := serve(t, Options{Dir: dir}, text).ready()
	p := gather(t, s.address(), 1).players[0]
	base := func() string { return "http://" + s.Addresses().HTTP.String() }
	first := p.c.Board().ID
	for range 5 { // on two boards in turn
		if !p.move(t.Context()) {
			t.Fatal("a move failed")
		}
	}
	game := func() (g record.Game) {
		_, body, _ := strings.Cut(fetch(t, fmt.Sprintf("%s/api/boards/%d", base(), first)), " ")
		if err := json.Unmarshal([]byte(body), &g); err != nil {
			return record.Game{} // not yet in the store
		}
		return g
	}
	// The answered move can be read at once.
	if g := game(); len(g.Moves) != 3 || g.Result != nil || g.Profile != "default" || g.Moves[2].Ply != 3 {
		t.Errorf("a running game: got %+v, want three moves", g)
	}
	cursor := headerOf(t, base()+"/api/finished?after=end", "Wamble-Cursor")
	for range 6 {
		if !p.move(t.Context()) {
			t.Fatal("a move failed")
		}
	}
	line := fmt.Sprintf(`"board":%d,"winner":"draw","reason":"move limit","plies":6,`, first)
	if got := fetch(t, base()+"/api/finished?wait=30&after="+cursor); !strings.HasPrefix(got, "200 {") ||
		!strings.Contains(got, line) {
		t.Errorf("the feed: got %s, want %s in it", got, line)
	}
	until(t, "the finished game is read", func() bool { g := game(); return len(g.Moves) == 6 && g.Result != nil })
	if got := fetch(t, fmt.Sprintf("%s/api/boards/%d/pgn", base(), first)); !strings.Contains(got,
		`[Termination "move limit"]`) {
		t.Errorf("the PGN: got %s", got)
	}
	// The player played alone, which earns nothing.
	until(t, "the player is on the leaderboard", func() bool {
		return strings.Contains(fetch(t, base()+"/api/leaderboard"),
			`"total":1,"rows":[{"rank":1,"session":1,"score":0,`)
	})
	if _, err := p.c.Spectate(t.Context(), client.View{}); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, base()+"/api/live"); !strings.Contains(got, `"players":1,"bots":0,"sessions":1,"watchers":1,`) ||
		!strings.Contains(got, `"moves":11,`) || !strings.Contains(got, `"games":1}`) {
		t.Errorf("live: got %s", got)
	}
	if got := fetch(t, base()+"/api/nothing"); got != `404 {"error":"there is no such path"}` {
		t.Errorf("nothing: got %s", got)
	}
	s.end()

	s = serve(t, Options{Dir: dir}, text).ready()
	if got := fetch(t, base()+"/api/finished?after="+cursor); !strings.Contains(got, line) {
		t.Errorf("the feed after a restart: got %s, want %s in it", got, line)
	}
	if got := fetch(t, base()+"/api/boards/"+fmt.Sprint(first+wamble.BoardID(1000))); got != `404 {"error":"not found"}` {
		t.Errorf("no board: got %s", got)
	}
}

func headerOf(t testing.TB, url, name string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get(name)
}

// TestReadRoutesDenied: the policy holds for readers, too.
func TestReadRoutesDenied(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf(`(def policy-default "deny")`)).ready()
	for _, path := range []string{"/api/live", "/api/boards/1", "/api/leaderboard", "/api/finished",
		"/api/players/h_ada"} {
		if got, want := fetch(t, "http://"+s.Addresses().HTTP.String()+path),
			`403 {"error":"this server does not allow it"}`; got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestStopWithReaders: readers that wait for the feed do not keep the server from ending.
func TestStopWithReaders(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def shutdown-timeout 3600)")).ready()
	url := "http://" + s.Addresses().HTTP.String() + "/api/finished?wait=30"
	answered := make(chan string, 1)
	go func() { answered <- fetch(t, url) }()
	until(t, "the reader waits", func() bool {
		games := &s.first().gamesChanged
		games.mu.Lock()
		defer games.mu.Unlock()
		return games.next != nil
	})
	s.end()
	if got := <-answered; !strings.HasPrefix(got, "503") {
		t.Errorf("the reader got %s", got)
	}
}
