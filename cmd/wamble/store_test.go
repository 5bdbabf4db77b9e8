package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/store/sqlite"
)

// TestNewerDatabase: a newer binary's database is refused by every command, with what to do,
// and left unchanged.
func TestNewerDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "games.db")
	store, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, '099_tomorrow.sql', 0)`); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // where there is no configuration
	for _, args := range [][]string{{"migrate"}, {"db", "status"}, {"export", "pgn"}} {
		var out, errOut strings.Builder
		code := run(append(args, "--data", dir), strings.NewReader(""), &out, &errOut)
		for _, want := range []string{"SQLite " + path, "the database has schema version 99", "run a newer wamble"} {
			if code != 1 || !strings.Contains(errOut.String(), want) {
				t.Errorf("%v: got code %d, %q, want 1 and %q", args, code, errOut.String(), want)
			}
		}
	}
	var steps int
	if err := db.QueryRow(`SELECT count(*) FROM schema_migrations WHERE version < 99`).Scan(&steps); err != nil ||
		steps == 0 {
		t.Errorf("got %d steps, %v, want those that were there", steps, err)
	}
}
