package main

import (
	"os"
	"path/filepath"
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
	if code := run(args, strings.NewReader(""), &out, &errOut); code != 1 || out.Len() > 0 || !strings.Contains(errOut.String(), "profile blue has no board 1") {
		t.Errorf("got code %d, %q, %q, want an error that says so", code, out.String(), errOut.String())
	}
}
