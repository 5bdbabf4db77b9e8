package record

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func foolsMate() *wamble.Board {
	b := &wamble.Board{ID: 7, Profile: "blitz", Status: wamble.Archived, Variant: -1, Created: noon,
		FEN: "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"}
	for i, uci := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		m := wamble.Move{Ply: i + 1, UCI: uci, Session: wamble.SessionID(10 + i%3),
			At: noon.Add(time.Duration(i) * time.Second)}
		if i == 1 {
			m.Handle = "h_ada"
		}
		b.Moves = append(b.Moves, m)
	}
	b.Result = &wamble.GameResult{Result: wamble.BlackWins, Plies: 4, Duration: 3 * time.Second, Reason: "checkmate",
		Finished: noon.Add(3 * time.Second)}
	return b
}

func TestPGN(t *testing.T) {
	got, err := AppendPGN(nil, foolsMate())
	if err != nil {
		t.Fatal(err)
	}
	const want = `[Event "Wamble, blitz"]
[Site "?"]
[Date "2026.11.15"]
[Round "7"]
[White "2 players"]
[Black "2 players"]
[Result "0-1"]
[Board "7"]
[Status "ARCHIVED"]
[Termination "checkmate"]

1. f3 {session 10, 2026-11-15T12:00:00Z} 1... e5 {h_ada, 2026-11-15T12:00:01Z}
2. g4 {session 12, 2026-11-15T12:00:02Z} 2... Qh4# {session 10,
2026-11-15T12:00:03Z} 0-1

`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, rest, err := chess.ParsePGN(string(got)); err != nil || strings.TrimSpace(rest) != "" {
		t.Errorf("our own reader: rest %q, %v", rest, err)
	}
}

func TestPGNOfChess960AndOfRunningGames(t *testing.T) {
	b := &wamble.Board{ID: 1, Profile: "p", Variant: 0, Created: noon, Status: wamble.Dormant}
	got, err := AppendPGN(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`[Variant "Chess960"]`, `[FEN "bbqnnrkr/`, `[White "?"]`, "\n*\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}

func TestPGNOfABrokenGame(t *testing.T) {
	b := foolsMate()
	b.Moves[2].UCI = "e2e5"
	if _, err := AppendPGN(nil, b); !errors.Is(err, chess.ErrIllegal) {
		t.Errorf("got %v, want an illegal move", err)
	}
	b.Variant = 960
	if _, err := AppendPGN(nil, b); err == nil {
		t.Error("there is no start position 960")
	}
}

func TestJSON(t *testing.T) {
	line, err := AppendJSON(nil, foolsMate())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(line), "\n"); n != 1 || line[len(line)-1] != '\n' {
		t.Errorf("a record is one line, got %q", line)
	}
	var g Game
	if err := json.Unmarshal(line, &g); err != nil {
		t.Fatal(err)
	}
	if g.Board != 7 || len(g.Moves) != 4 || g.Moves[1].Handle != "h_ada" || g.Result == nil ||
		g.Result.Winner != "black" || g.Chess960 != nil {
		t.Errorf("got %+v", g)
	}
}

// TestJSONOfAHolder: a running game shows the holder of its board, as a guest only if they
// are one.
func TestJSONOfAHolder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status wamble.BoardStatus
		holder *wamble.Reservation
		want   string
	}{
		{"nobody", wamble.Active, nil, ``},
		{"a guest", wamble.Reserved, &wamble.Reservation{Session: 9}, `"holder":{"session":9},`},
		{"a program", wamble.Reserved, &wamble.Reservation{Session: 9, Bot: true}, `"holder":{"session":9,"bot":true},`},
		{"a name", wamble.Reserved, &wamble.Reservation{Session: 9, Key: wamble.PublicKey{1}, Handle: "h_ada"}, `"holder":{"session":9,"handle":"h_ada"},`},
		{"a name that is not known", wamble.Reserved, &wamble.Reservation{Session: 9, Key: wamble.PublicKey{1}}, ``},
		{"it is asleep", wamble.Dormant, &wamble.Reservation{Session: 9}, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			line, err := AppendJSON(nil,
				&wamble.Board{ID: 7, Profile: "p", Status: tc.status, Variant: -1, Created: noon, Holder: tc.holder})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"board":7,"profile":"p","status":"` + tc.status.String() +
				`","version":0,"fen":"","created":"2026-11-15T12:00:00Z",` + tc.want + `"moves":[]}` + "\n"
			if string(line) != want {
				t.Errorf("got  %s\nwant %s", line, want)
			}
		})
	}
}

// TestTrail: each of a player's moves has its answer, also when it is their own, and boards
// of others or of another profile are not shown.
func TestTrail(t *testing.T) {
	older := wamble.Board{ID: 5, Profile: "blitz", Variant: -1, FEN: "older",
		Moves: []wamble.Move{{Ply: 1, UCI: "e2e4", Session: 12, At: noon.Add(-time.Hour)}}}
	elsewhere := older
	elsewhere.ID, elsewhere.Profile = 6, "bullet"
	others := *foolsMate()
	others.ID = 8
	for i := range others.Moves {
		others.Moves[i].Session = 99
	}
	trail := &wamble.Trail{Sessions: []wamble.SessionID{10, 12}, Seen: noon,
		Boards: []wamble.Board{older, elsewhere, others, *foolsMate()}, Paid: []wamble.Score{{Board: 7, Points: 3.2}}}
	line, err := AppendTrail(nil, trail, "blitz", false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"seen":"2026-11-15T12:00:00Z","boards":[{"board":7,"plies":4,"moves":[` +
		`{"ply":1,"uci":"f2f3","san":"f3","at":"2026-11-15T12:00:00Z","reply":"e5","answered":"2026-11-15T12:00:01Z"},` +
		`{"ply":3,"uci":"g2g4","san":"g4","at":"2026-11-15T12:00:02Z","reply":"Qh4#","answered":"2026-11-15T12:00:03Z"},` +
		`{"ply":4,"uci":"d8h4","san":"Qh4#","at":"2026-11-15T12:00:03Z"}],` +
		`"result":{"winner":"black","reason":"checkmate","plies":4,"seconds":3,"finished":"2026-11-15T12:00:03Z"},"points":3.2},` +
		`{"board":5,"plies":1,"moves":[{"ply":1,"uci":"e2e4","san":"e4","at":"2026-11-15T11:00:00Z"}]}]}` + "\n"
	if string(line) != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	trail.Boards[0].Moves[0].UCI = "e2e5"
	if line, err := AppendTrail(nil, trail, "blitz", true); err != nil || strings.Contains(string(line), `"board":5`) ||
		!strings.Contains(string(line), `"fen":"rnb1kbnr`) {
		t.Errorf("a game that cannot be: %v, %s", err, line)
	}
}
