package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble/internal/store"

	"wamble"
)

const token = "ARIiM0RVZneImaq7zN3u_w"

func TestAnswers(t *testing.T) {
	const self = `{"rank":12,"session":40,"score":3,"prediction_score":0,"rating":0,"games":0}`
	const row = `{"rank":1,"session":11,"handle":"h_ada","score":73.3333,"prediction_score":4,"rating":1216.5,"games":81}`
	const move = `{"ply":1,"uci":"f2f3","session":11,"handle":"h_ada","at":"2026-11-15T12:00:00Z"}`
	const fen = `rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq - 0 1`
	for _, tc := range []struct{ name, path, token, want string }{
		{"live", "/api/live", "", `200 {"profile":"blitz","at":"2026-11-15T12:00:00Z","players":2,"bots":0,"sessions":5,"watchers":1,"boards":{"active":3,"reserved":2,"dormant":4,"total":9},"moves":70,"games":6,"watched":[{"board":17,"watchers":5}]}`},
		{"a running board", "/api/boards/17", "", `200 {"board":17,"profile":"blitz","status":"ACTIVE","version":9,"fen":"` + fen + `","created":"2026-11-15T12:00:00Z","moves":[` + move + `]}`},
		{"a finished board", "/api/boards/18", "", `200 {"board":18,"profile":"blitz","status":"ARCHIVED","version":9,"fen":"` + fen + `","created":"2026-11-15T12:00:00Z","moves":[` + move + `],"result":{"winner":"draw","reason":"move limit","plies":1,"seconds":3,"finished":"2026-11-15T12:00:00Z"}}`},
		{"a board of another profile", "/api/boards/19", "", `404 {"error":"not found"}`},
		{"no board", "/api/boards/20", "", `404 {"error":"not found"}`},
		{"board 0", "/api/boards/0", "", `400 {"error":"a board has a number from 1 on"}`},
		{"a board too far", "/api/boards/9223372036854775808", "", `400 {"error":"a board has a number from 1 on"}`},
		{"a board in words", "/api/boards/abc/pgn", "", `400 {"error":"a board has a number from 1 on"}`},
		{"a player", "/api/players/h_ada", "", `200 {"handle":"h_ada","created":"2026-11-15T12:00:00Z","score":73.3333,"prediction_score":4,"rating":1216.5,"games":81,"chess960_games":3}`},
		{"no player", "/api/players/h_eve", "", `404 {"error":"not found"}`},
		{"a short handle", "/api/players/ab", "", `400 {"error":"a handle has 3 to 63 of A-Z, a-z, 0-9, - and _"}`},
		{"a strange handle", "/api/players/h.ada/scores", "", `400 {"error":"a handle has 3 to 63 of A-Z, a-z, 0-9, - and _"}`},
		{"scores", "/api/players/h_ada/scores?limit=2", "", `200 {"handle":"h_ada","scores":[{"board":18,"points":6.5,"rating":0.8,"at":"2026-11-15T12:00:00Z"},{"board":17,"points":0,"rating":-1,"at":"2026-11-15T12:00:00Z"}],"next":"1794744000000000-17"}`},
		{"more scores", "/api/players/h_ada/scores?limit=2&before=1794744000000000-17", "", `200 {"handle":"h_ada","scores":[{"board":5,"points":1,"rating":0,"at":"2026-11-15T11:00:00Z"}]}`},
		{"scores of nobody", "/api/players/h_eve/scores", "", `200 {"handle":"h_eve","scores":[]}`},
		{"no more scores", "/api/players/h_ada/scores?before=1794740400000000-5", "", `200 {"handle":"h_ada","scores":[]}`},
		{"too many scores", "/api/players/h_ada/scores?limit=101", "", `400 {"error":"limit is a number from 1 to 100"}`},
		{"scores before nonsense", "/api/players/h_ada/scores?before=yesterday", "", `400 {"error":"before is what the last answer said as next"}`},
		{"a trail", "/api/trail", token, `200 {"seen":"2026-11-15T12:00:00Z","boards":[{"board":18,"fen":"` + fen + `","plies":1,"moves":[{"ply":1,"uci":"f2f3","san":"f3","at":"2026-11-15T12:00:00Z"}],"result":{"winner":"draw","reason":"move limit","plies":1,"seconds":3,"finished":"2026-11-15T12:00:00Z"},"points":3.2}]}`},
		{"a trail of an unknown session", "/api/trail", strings.Repeat("_", 22), `200 {"boards":[]}`},
		{"nobody's trail", "/api/trail", "", `400 {"error":"whose trail? Authorization is missing"}`},
		{"leaderboard", "/api/leaderboard", "", `200 {"by":"score","of":"people","total":340,"rows":[` + row + `]}`},
		{"leaderboard of a session", "/api/leaderboard?by=rating&limit=1", token, `200 {"by":"rating","of":"people","total":340,"rows":[` + row + `],"self":` + self + `}`},
		{"leaderboard of a session in hex", "/api/leaderboard?by=rating&limit=1", "01122233445566778899aabbccddeeff", `200 {"by":"rating","of":"people","total":340,"rows":[` + row + `],"self":` + self + `}`},
		{"leaderboard of an unknown session", "/api/leaderboard?limit=1", strings.Repeat("_", 22), `200 {"by":"score","of":"people","total":340,"rows":[` + row + `]}`},
		{"leaderboard of a month", "/api/leaderboard?season=202611", "", `200 {"by":"score","of":"people","season":202611,"total":340,"rows":[` + row + `]}`},
		{"leaderboard of a strange month", "/api/leaderboard?season=march", "", `400 {"error":"season is a number from 190001 to 999912"}`},
		{"leaderboard of the cats", "/api/leaderboard?of=cats", "", `400 {"error":"of is people or bots"}`},
		{"a leaderboard by height", "/api/leaderboard?by=height", "", `400 {"error":"by is score or rating"}`},
		{"a long leaderboard", "/api/leaderboard?limit=17", "", `400 {"error":"limit is a number from 1 to 16"}`},
		{"a deep leaderboard", "/api/leaderboard?offset=1000001", "", `400 {"error":"offset is a number from 0 to 1000000"}`},
		{"a short token", "/api/leaderboard", "abcd", `400 {"error":"Authorization is Bearer and a token: 32 hexadecimal digits, or the 22 characters that players see"}`},
		{"since when there is a past", "/api/at", "", `200 {"began":"2026-11-15T11:00:00Z","now":"2026-11-15T12:00:00Z"}`},
		{"the past", "/api/at/2026-11-15T12:00:00Z", "",
			`200 {"at":"2026-11-15T12:00:00Z","until":"2026-11-15T12:01:00Z","boards":[` +
				`{"board":18,"fen":"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1","ply":0,"from":1500,"moves":[{"after":4000,"uci":"e2e4"}]},` +
				`{"board":17,"fen":"rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq e6 0 2","ply":2,"last":"e7e5","moves":[{"after":1000,"uci":"g2g4"},{"after":2000,"uci":"d8h4"}],` +
				`"end":{"after":2000,"winner":"black","reason":"checkmate"}},` +
				`{"board":15,"fen":"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1","ply":0,"end":{"after":-2000,"winner":"draw","reason":"archived"}}],"next":"16"}`},
		{"the past in another zone", "/api/at/2026-11-15T13:00:00.5+01:00?from=16", "", `200 {"at":"2026-11-15T12:00:00Z","until":"2026-11-15T12:01:00Z","boards":[]}`},
		{"a past without a time", "/api/at/yesterday", "", `400 {"error":"a time is written as 2026-11-15T12:00:00Z"}`},
		{"a past before computers", "/api/at/0001-01-01T00:00:00Z", "", `400 {"error":"a time is written as 2026-11-15T12:00:00Z"}`},
		{"a past from board 0", "/api/at/2026-11-15T12:00:00Z?from=0", "", `400 {"error":"from is the number of a board"}`},
		{"no such path", "/api/nothing", "", `404 {"error":"there is no such path"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.counts = Counts{Players: 2, Sessions: 5, Watchers: 1, Boards: [wamble.Archived]int{wamble.Active: 3,
				wamble.Reserved: 2, wamble.Dormant: 4}, Moves: 70, Games: 6, MostWatched: []Watched{{17, 5}}}
			var headers []string
			if tc.token != "" {
				headers = []string{"Authorization", "Bearer " + tc.token}
			}
			if got := r.get(tc.path, headers...); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestPGN(t *testing.T) {
	r := newRig(t)
	w := r.serve(request("/api/boards/18/pgn"))
	if got := w.Header.Get("Content-Type"); got != "application/vnd.chess-pgn; charset=utf-8" {
		t.Errorf("got %s", got)
	}
	if got := r.get("/api/boards/18/pgn"); !strings.Contains(got, `[Round "18"]`) ||
		!strings.Contains(got, "1. f3 {h_ada, 2026-11-15T12:00:00Z} 1/2-1/2") {
		t.Errorf("got %s", got)
	}
}

// TestModesAreHidden: a reader who may not see game modes does not learn which boards are
// Chess960, also when another one was just shown them.
func TestModesAreHidden(t *testing.T) {
	r := newRig(t)
	if got := r.get("/api/boards/16"); !strings.Contains(got, `"chess960":518`) {
		t.Errorf("got %s", got)
	}
	if got := r.get("/api/boards/16/pgn"); !strings.Contains(got, "960") {
		t.Errorf("got %s", got)
	}
	r.denied = "game.mode"
	r.later(permitGood)
	if got := r.get("/api/boards/16"); !strings.HasPrefix(got, "200") || strings.Contains(got, "960") {
		t.Errorf("without the right: got %s", got)
	}
	if got := r.get("/api/boards/16/pgn"); !strings.HasPrefix(got, "403") {
		t.Errorf("without the right: got %s", got)
	}
}

// TestTrail: a player who may not watch sees no position in their trail; a token that is
// bound to another network shows nothing.
func TestTrail(t *testing.T) {
	r := newRig(t)
	r.denied = "spectate.access"
	if got := r.get("/api/trail", "Authorization", "Bearer "+token); !strings.Contains(got, `"board":18`) ||
		strings.Contains(got, "fen") {
		t.Errorf("without the right to watch: got %s", got)
	}
	for host, want := range map[string]string{"192.0.2.0/24": "18", "203.0.113.0/24": `200 {"boards":[]}`,
		"nonsense": `200 {"boards":[]}`} {
		r := newRig(t)
		r.host = host
		if got := r.get("/api/trail", "Authorization", "Bearer "+token); !strings.Contains(got, want) {
			t.Errorf("bound to %s: got %s, want %s", host, got, want)
		}
	}
}

// TestRights: a request that the policy denies is refused before anything is read, by each
// route for each of its rights; all rights exist in the policy.
func TestRights(t *testing.T) {
	known := map[string]wamble.PolicyAction{}
	for _, a := range wamble.PolicyActions {
		known[a.Name] = a
	}
	for _, row := range routes {
		path := strings.NewReplacer("{id}", "17", "{handle}", "h_ada", "{time}",
			"2026-11-15T12:00:00Z").Replace(row.path)
		if len(row.rights) == 0 {
			t.Errorf("%s needs no right", row.path)
		}
		about := strings.Contains(row.path, "{handle}")
		rights := row.rights
		if about {
			rights = append(slices.Clone(rights), mayRead...)
		}
		for _, right := range rights {
			if a := known[right.Action]; !a.Knows(right.Resource) || a.Context != "" && right.Key != "" &&
				right.Key != a.Context {
				t.Errorf("%s: the policy knows no %+v", row.path, right)
			}
			r := newRig(t)
			r.denied = right.Action
			if got, want := r.get(path), `403 {"error":"this server does not allow it"}`; got != want ||
				len(r.calls) > 0 && right.Action != "stats.read" {
				t.Errorf("%s without %s: got %s after %v, want %s", path, right.Action, got, r.calls, want)
			}
		}
		r := newRig(t)
		if got := r.get(path, "Authorization", "bearer "+token); !strings.HasPrefix(got, "200") {
			t.Errorf("%s: got %s", path, got)
		}
		if who := r.who; who.Token.String() != token || who.From != netip.MustParseAddr("192.0.2.1") ||
			(who.About != nil) != about {
			t.Errorf("%s asked about %+v", path, who)
		}
		asked := r.admits
		r.get(path, "Authorization", "bearer "+token)
		if r.admits != asked {
			t.Errorf("%s: the policy is asked each time", path)
		}
		r.later(permitGood)
		r.denied = row.rights[0].Action
		if got := r.get(path, "Authorization", "bearer "+token); !strings.HasPrefix(got, "403") {
			t.Errorf("%s a moment later: got %s", path, got)
		}
	}
}

// TestSessionOfAnotherMachine: a session that is not in memory is judged as the store has it, unless its token is
// bound to another network, and the store is asked once in a while.
func TestSessionOfAnotherMachine(t *testing.T) {
	for host, want := range map[string]wamble.SessionID{"": 40, "192.0.2.0/24": 40, "198.51.100.0/24": 0} {
		r := newRig(t)
		r.away, r.host = true, host
		for range 3 {
			if got := r.get("/api/live", "Authorization", "bearer "+token); !strings.HasPrefix(got, "200") {
				t.Errorf("got %s", got)
			}
		}
		if r.who.Stored == nil || r.who.Stored.ID != want || r.called1("Session") != 1 {
			t.Errorf("bound to %q: the policy was asked about %+v, the store %d times; want session %d, once", host,
				r.who.Stored, r.called1("Session"), want)
		}
	}
}

// TestSummary: who may look at single boards, and not at all of them, gets no events of all
// boards and no past, also when they have just looked at one.
func TestSummary(t *testing.T) {
	r := newRig(t)
	r.denied = "summary"
	for _, path := range []string{"/api/boards/17", "/api/events?board=17"} {
		if got := r.get(path); !strings.HasPrefix(got, "200") {
			t.Errorf("%s: got %s", path, got)
		}
	}
	for _, path := range []string{"/api/events", "/api/events?session=11", "/api/events?player=h_ada", "/api/at",
		"/api/at/2026-11-15T12:00:00Z"} {
		if got, want := r.get(path), `403 {"error":"this server does not allow it"}`; got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestDocumented: docs/http.md has every route, and no other.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range routes {
		if !strings.Contains(string(text), "| `"+row.path+"` |") {
			t.Errorf("%s is not in the table of docs/http.md", row.path)
		}
	}
	if got := strings.Count(string(text), "\n| `/api/"); got != len(routes) {
		t.Errorf("docs/http.md has %d paths, want %d", got, len(routes))
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("read: %w", store.ErrTransient), `503 {"error":"the database is away"}`},
		{ErrStarting, `503 {"error":"the profile is starting"}`},
		{errors.New("secret detail"), `500 {"error":"internal error"}`},
	} {
		r := newRig(t)
		r.err = tc.err
		for _, path := range []string{"/api/boards/17", "/api/players/h_ada", "/api/leaderboard", "/api/live",
			"/api/finished"} {
			if got := r.get(path); got != tc.want {
				t.Errorf("%v: %s: got %s, want %s", tc.err, path, got, tc.want)
			}
		}
		if got := r.serve(request("/api/live")).Header.Get("Retry-After"); (got == "1") != strings.HasPrefix(tc.want,
			"503") {
			t.Errorf("%v: Retry-After is %q", tc.err, got)
		}
	}
	r := newRig(t)
	r.o.Admit = func(context.Context, Who, []Right) error { return &wamble.Denied{Reason: "terms acceptance required"} }
	if got, want := r.get("/api/live"), `403 {"error":"terms acceptance required"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r = newRig(t)
	q := request("/api/live")
	q.Method = http.MethodPost
	if got := r.serve(q); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d", got.StatusCode)
	}
}

func TestConditional(t *testing.T) {
	r := newRig(t)
	w := r.serve(request("/api/boards/17"))
	tag := w.Header.Get("ETag")
	if tag == "" || w.Header.Get("Cache-Control") != "max-age=1" || w.Header.Get("Vary") != "Authorization" {
		t.Errorf("got %v", w.Header)
	}
	if got := r.get("/api/boards/17", "If-None-Match", `"other", `+tag); got != "304 " {
		t.Errorf("got %s, want 304 without a body", got)
	}
	if got := r.get("/api/boards/17", "If-None-Match", `"other"`); !strings.HasPrefix(got, "200 {") {
		t.Errorf("got %s, want the board", got)
	}
	q := request("/api/boards/18")
	q.Method = http.MethodHead
	if w := r.serve(q); w.StatusCode != 200 || w.Header.Get("Content-Length") == "0" ||
		w.Header.Get("Cache-Control") != "max-age=60" {
		t.Errorf("HEAD: got %d, %v", w.StatusCode, w.Header)
	}
	if w := r.serve(request("/api/leaderboard", "Authorization",
		"Bearer "+token)); w.Header.Get("Cache-Control") != "private, max-age=5" {
		t.Errorf("one's own row: got %v", w.Header)
	}
}

func TestMovesPerSecond(t *testing.T) {
	r := newRig(t)
	for _, tc := range []struct {
		moves uint64
		after time.Duration
		want  string
	}{
		{100, 0, ""}, {125, 2 * time.Second, `"moves_per_second":12.5,`}, {125, 10 * time.Second, `"moves_per_second":0,`},
		{300, 2 * time.Minute, ""}, {301, time.Second, `"moves_per_second":1,`}, {5, time.Second, ""},
	} {
		r.counts.Moves = tc.moves
		r.later(tc.after)
		got := r.get("/api/live")
		if has := strings.Contains(got, "moves_per_second"); has != (tc.want != "") || !strings.Contains(got, tc.want) {
			t.Errorf("%d moves after %v: got %s, want %s", tc.moves, tc.after, got, tc.want)
		}
	}
}
