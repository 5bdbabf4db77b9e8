package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/sqlite"
)

// TestExportGames writes games into a database and exports them.
func TestExportGames(t *testing.T) {
	dir := t.TempDir()
	games, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, "games.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := games.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	if err := games.Apply(t.Context(), store.Batch{Profile: "default", Through: 1, Intents: []intent.Intent{
		&intent.CreateSession{Session: 1, Token: wamble.Token{1}.Hash(), At: noon},
		&intent.LinkSession{Session: 1, Key: wamble.PublicKey{9}, Player: 1, Handle: "h_ada", Rating: 1200, At: noon},
		&intent.CreateBoard{Board: 1, FEN: "x", Status: wamble.Active, Variant: -1, At: noon},
		&intent.CreateBoard{Board: 2, FEN: "x", Status: wamble.Active, Variant: 0, At: noon},
		&intent.RecordMove{Board: 1, Session: 1, UCI: "e2e4", Ply: 1, First: true, At: noon},
		&intent.RecordMove{Board: 2, Session: 1, UCI: "e2e4", Ply: 1, First: true, At: noon.Add(-48 * time.Hour)},
	}}); err != nil {
		t.Fatal(err)
	}
	games.Close()

	for _, tc := range []struct {
		name string
		args []string
		want []string
		not  []string
	}{
		{"PGN", []string{"pgn"}, []string{"1. e4 {h_ada, 2026-11-15T12:00:00Z}", `[Variant "Chess960"]`}, nil},
		{"JSON", []string{"ndjson"}, []string{`{"board":1,`, `{"board":2,`, `"handle":"h_ada"`}, nil},
		{"one board", []string{"ndjson", "--board", "2"}, []string{`{"board":2,`}, []string{`{"board":1,`}},
		{"since", []string{"ndjson", "--since", "2026-11-15"}, []string{`{"board":1,`}, []string{`{"board":2,`}},
		{"one board of its profile", []string{"ndjson", "--board", "2", "--profile", "default"}, []string{`{"board":2,`}, nil},
		{"one profile", []string{"ndjson", "--profile", "default"}, []string{`{"board":1,`}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(dir)
			var out, errOut strings.Builder
			args := append([]string{"export", "--data", dir}, tc.args...)
			if code := run(args, strings.NewReader(""), &out, &errOut); code != 0 {
				t.Fatalf("exit code %d: %s", code, errOut.String())
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got %s, want %s in it", out.String(), want)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("got %s, want no %s in it", out.String(), not)
				}
			}
		})
	}
}

// TestExportOfAnotherProfile: two profiles share a database, not their boards.
func TestExportOfAnotherProfile(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "two.conf")
	if err := os.WriteFile(conf, []byte(`(defprofile red ((def port 9001) (def advertise 1)))
		(defprofile blue ((def port 9002) (def advertise 1)))`), 0o600); err != nil {
		t.Fatal(err)
	}
	games, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, "games.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := games.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := games.Apply(t.Context(), store.Batch{Profile: "red", Through: 1, Intents: []intent.Intent{
		&intent.CreateBoard{Board: 1, FEN: "x", Status: wamble.Active, Variant: -1, At: time.Unix(1, 0)},
	}}); err != nil {
		t.Fatal(err)
	}
	games.Close()
	var out, errOut strings.Builder
	args := []string{"export", "ndjson", "--config", conf, "--data", dir, "--board", "1", "--profile", "blue"}
	if code := run(args, strings.NewReader(""), &out, &errOut); code != 1 || out.Len() > 0 ||
		!strings.Contains(errOut.String(), "profile blue has no board 1") {
		t.Errorf("got code %d, %q, %q, want an error that says so", code, out.String(), errOut.String())
	}
}

// TestExportPlayer: the export of a player has their moves, predictions and acceptances of
// terms, and nothing of other players.
func TestExportPlayer(t *testing.T) {
	dir := t.TempDir()
	games, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, "games.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := games.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	var rows []intent.Intent
	for id := range wamble.SessionID(2) {
		n := id + 1
		rows = append(rows, &intent.CreateSession{Session: n, Token: wamble.Token{byte(n)}.Hash(), At: noon},
			&intent.LinkSession{Session: n, Key: wamble.PublicKey{byte(n)}, Player: wamble.PlayerID(n),
				Handle: fmt.Sprintf("h_%d", n), Rating: 1200, At: noon},
			&intent.CreateBoard{Board: wamble.BoardID(n), FEN: "x", Status: wamble.Active, Variant: -1, At: noon},
			&intent.RecordTermsAcceptance{Session: n, Profile: "default", Hash: [32]byte{byte(n)}, Text: "Be kind",
				At: noon},
			&intent.RecordPrediction{ID: wamble.PredictionID(n), Board: wamble.BoardID(n), Session: n, UCI: "e7e5",
				Ply: 2, At: noon})
	}
	// Both move on the board of the first.
	for i, uci := range []string{"e2e4", "e7e5", "g1f3"} {
		rows = append(rows, &intent.RecordMove{Board: 1, Session: wamble.SessionID(1 + i%2), UCI: uci, Ply: i + 1,
			First: i < 2, At: noon})
	}
	if err := games.Apply(t.Context(), store.Batch{Profile: "default", Through: 1, Intents: rows}); err != nil {
		t.Fatal(err)
	}
	games.Close()
	t.Chdir(dir)
	var out, errOut strings.Builder
	if code := run([]string{"export-player", "h_1", "--data", dir}, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var got []exportedPlayer
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got) != 1 {
		t.Fatalf("got %s, %v", out.String(), err)
	}
	if want := []exportedMove{{1, 1, "e2e4", noon}, {1, 3, "g1f3", noon}}; !slices.Equal(got[0].Moves, want) {
		t.Errorf("moves: got %+v, want %+v", got[0].Moves, want)
	}
	if p := got[0].Predictions; len(p) != 1 || p[0] != (exportedPrediction{1, 2, "e7e5", "PENDING", 0, noon}) {
		t.Errorf("predictions: got %+v", p)
	}
	if a := got[0].Terms; len(a) != 1 || a[0].Terms != "01"+strings.Repeat("0", 62) || a[0].Profile != "default" ||
		!a[0].At.Equal(noon) {
		t.Errorf("terms: got %+v", a)
	}
}
