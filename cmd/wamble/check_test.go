package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestCheckAsksJournal: check reports whether the database of a journal waits for a
// synchronous standby, with a warning if it does not; a database that is away is no error.
func TestCheckAsksJournal(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Server()
	path := filepath.Join(t.TempDir(), "test.conf")
	text := fmt.Sprintf("(def journal \"postgres\") (def db-host %q) (def db-port %d) (def db-user %q) (def db-name %q) (def db-sslmode \"disable\")", db.Host, db.Port, db.User, db.Name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func() string {
		t.Helper()
		var out, errOut strings.Builder
		if code := run([]string{"check", path}, strings.NewReader(""), &out, &errOut); code != 0 {
			t.Fatalf("got code %d, %s", code, errOut.String())
		}
		return out.String()
	}
	const warning = "\nWARNING: synchronous_standby_names is empty there: with that machine the last moves are lost"
	where := "\njournal: PostgreSQL postgres at "
	if got := check(); !strings.Contains(got, "no errors, 1 warning\n") || !strings.Contains(got, where) ||
		!strings.Contains(got, warning) {
		t.Errorf("without a standby it says %q", got)
	}
	pgtest.Execute(t, db, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
	pgtest.Execute(t, db, "SELECT pg_reload_conf()")
	watchtest.Until(t, "it says that there is a standby", func() bool {
		got := check()
		return strings.Contains(got, "no errors, no warnings\n") &&
			strings.Contains(got, ", which waits for a synchronous standby\n") && !strings.Contains(got, warning)
	})
	cluster.Down(t)
	if got := check(); !strings.Contains(got, where) ||
		!strings.Contains(got, "; it could not be asked whether it waits for a standby: ") {
		t.Errorf("of a database that is away it says %q", got)
	}
}
