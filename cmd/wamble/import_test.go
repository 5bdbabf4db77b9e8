package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// TestImportCommand takes a database of the original after its migration 002 the way that a host takes it:
// every command that meets it says that it is not adopted and what to do, none changes it or waits for it,
// and import brings it to a new data directory.
func TestImportCommand(t *testing.T) {
	cluster := pgtest.Start(t, false)
	pgtest.Execute(t, cluster.Server(), "CREATE DATABASE old")
	o := cluster.Server()
	o.Name = "old"
	all, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, o, all[0].SQL+`; ALTER TABLE reservations ADD COLUMN started_at TIMESTAMPTZ DEFAULT NOW(), ADD COLUMN reserved_for_white BOOLEAN;
		INSERT INTO sessions (id, token, trust_level) VALUES (1, decode(repeat('01', 16), 'hex'), 3);
		INSERT INTO boards (id, fen, status) VALUES (1, 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1', 'ACTIVE');
		INSERT INTO moves (board_id, session_id, move_uci, move_number) VALUES (1, 1, 'e2e4', 1)`)
	columns := func() string {
		return fmt.Sprint(slices.Sorted(slices.Values(pgtest.Query[[]string](t, o, postgres.SelectColumns))))
	}
	before := columns()
	dir := t.TempDir()
	conf, data := filepath.Join(dir, "wamble.conf"), filepath.Join(dir, "data")
	text := fmt.Sprintf(`(def db-host %q) (def db-port %d) (def db-user %q) (def db-name "old") (def port 0) (def listen-address "127.0.0.1") (def admin-listen "") (def disk-reserve-mb 0)`,
		o.Host, o.Port, o.User)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	give := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(args, strings.NewReader(""), &out, &out); got != code {
			t.Errorf("%s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out.String())
		}
		return out.String()
	}
	for _, args := range []string{"db status", "migrate --plan", "migrate", "doctor", "export pgn", "serve"} {
		if said := give(1, append(strings.Fields(args), "--config", conf, "--data", data)...); !strings.Contains(said, "made by the original Wamble, with its migrations 002") ||
			!strings.Contains(said, "'wamble import'") {
			t.Errorf("%s says\n%s", args, said)
		}
	}
	if said := give(0, "migrate", "--help"); !strings.Contains(said, "refused unchanged") || !strings.Contains(said, "wamble import") {
		t.Errorf("the help of migrate says\n%s", said)
	}
	if said := give(1, "import", "--from", o.DSN(), "--config", conf, "--data", data); !strings.Contains(said, "is a database of the original itself") {
		t.Errorf("import into itself says\n%s", said)
	}
	if err := os.WriteFile(conf, []byte(strings.Split(text, `"old") `)[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	give(1, "import")
	new := []string{"import", "--from", o.DSN(), "--config", conf, "--data", filepath.Join(dir, "new")}
	if said := give(0, append(new, "--dry-run")...); !strings.Contains(said, "moves                  1 there,        1 would come") {
		t.Errorf("a dry run says\n%s", said)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("a dry run makes the data directory")
	}
	for _, want := range []string{"came to default", "was there already"} {
		if said := give(0, append(new, "--verify")...); !strings.Contains(said, want) || !strings.Contains(said, "are those of the original") {
			t.Errorf("import says\n%s", said)
		}
	}
	if said := give(0, "export", "pgn", "--config", conf, "--data", filepath.Join(dir, "new")); !strings.Contains(said, "1. e4") {
		t.Errorf("the game is\n%s", said)
	}
	if got := columns(); got != before {
		t.Errorf("the original's database has changed: %s", got)
	}
}
