package main

import (
	"database/sql"
	"os"
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
	if err := db.QueryRow(`SELECT count(*) FROM schema_migrations WHERE version < 99`).Scan(&steps); err != nil || steps == 0 {
		t.Errorf("got %d steps, %v, want those that were there", steps, err)
	}
}

// TestInstalled: a command that names no server asks the installed one, unless the current
// directory has a configuration, and unless this user may not read the installed one.
func TestInstalled(t *testing.T) {
	was := installed
	defer func() { installed = was }()
	dir := t.TempDir()
	installed = storeFlags{config: filepath.Join(dir, "wamble.conf"), data: filepath.Join(dir, "data")}
	here := t.TempDir()
	t.Chdir(here)
	find := func(f storeFlags) storeFlags { f.findInstalled(); return f }
	if got := find(storeFlags{}); got != (storeFlags{}) {
		t.Errorf("without an installed server: %+v", got)
	}
	if err := os.WriteFile(installed.config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ given, want storeFlags }{
		"nothing is named":           {storeFlags{profile: "p"}, storeFlags{profile: "p", config: installed.config, data: installed.data}},
		"its directory is named":     {storeFlags{data: installed.data + "/"}, installed},
		"another directory is named": {storeFlags{data: "/elsewhere"}, storeFlags{data: "/elsewhere"}},
		"another configuration is":   {storeFlags{config: "other.conf"}, storeFlags{config: "other.conf"}},
		"both are named":             {installed, installed},
	} {
		if got := find(c.given); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if got, err := (&runnerFlags{}).path(); err != nil || got != filepath.Join(installed.data, "journal") {
		t.Errorf("its journal: %s, %v", got, err)
	}
	if err := os.WriteFile(defaultConfigFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(storeFlags{}); got != (storeFlags{}) {
		t.Errorf("with a configuration here: %+v", got)
	}
	if err := os.Mkdir(installed.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := noServer(here).Error(); !strings.Contains(got, "--data "+installed.data) {
		t.Errorf("the installed server is not mentioned: %s", got)
	}
}
