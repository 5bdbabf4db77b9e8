package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// playerRole makes a role that may play in a database, and returns the options with it.
func playerRole(t *testing.T, db postgres.Options, name string) postgres.Options {
	t.Helper()
	name = db.Name + "_" + name // roles belong to the whole server
	pgtest.Execute(t, db, "CREATE ROLE "+name+" LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+name+
		"; GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO "+name)
	t.Cleanup(func() { pgtest.Forget(t, db, name) })
	db.User = name
	return db
}

// TestUnusableAtStart: a lasting error of the store ends the start at once, with advice, and is said once.
func TestUnusableAtStart(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	missing, locked, poor := db, playerRole(t, db, "locked"), playerRole(t, db, "poor")
	missing.Name = "wamble_nowhere"
	pgtest.Execute(t, db, "ALTER ROLE "+locked.User+" NOLOGIN; REVOKE INSERT ON profile_owners FROM "+poor.User)
	cluster := pgtest.Start(t, false)
	stranger := playerRole(t, cluster.Migrated(t), "stranger")
	pgtest.Execute(t, cluster.Server(), "ALTER ROLE "+stranger.User+" PASSWORD 'right'")
	cluster.AskPassword(t, stranger.User)
	stranger.Password = "wrong"
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "games.db"), []byte(strings.Repeat("no database ", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, dir, text, want string }{
		{"no such database", t.TempDir(), postgresConf(missing), "Check db-name, or make the database with createdb"},
		{"a role that may not log in", t.TempDir(), postgresConf(locked), "Check db-user"},
		{"a wrong password", t.TempDir(), postgresConf(stranger), "Check db-user and db-pass"},
		{"a role without privileges", t.TempDir(), postgresConf(poor), "GRANT"},
		{"a file that is no database", damaged, "", "The file is no SQLite database"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := &watchtest.Log{}
			s, err := Open(Options{Config: loadConf(t, conf(tc.text)), Dir: tc.dir,
				Log: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			err = s.Run(ctx)
			var wrong *store.Unusable
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v after %v, want it to end with %q", err, time.Since(began), tc.want)
			}
			if strings.Contains(log.String(), "it is started again") {
				t.Errorf("the log says that it goes on:\n%s", log)
			}
		})
	}
}

// TestUnusableJournalAtStart: the same for a journal in PostgreSQL, of one partition and of
// several: the server ends instead of waiting as a standby for a lasting error.
func TestUnusableJournalAtStart(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	missing, locked, poor := db, playerRole(t, db, "locked"), playerRole(t, db, "poor")
	missing.Name = "wamble_nowhere"
	pgtest.Execute(t, db, "ALTER ROLE "+locked.User+" NOLOGIN; REVOKE CREATE ON SCHEMA public FROM public")
	for _, tc := range []struct {
		name string
		db   postgres.Options
		more string
		want string
	}{
		{"no such database", missing, "", "Check db-name, or make the database with createdb"},
		{"a role that may not log in", locked, "", "Check db-user"},
		{"a role that may not log in, several parts", locked, "(def shards 2)", "Check db-user"},
		{"a role without privileges", poor, "", "GRANT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s, err := Open(Options{Config: loadConf(t, shared(tc.db, "one")+tc.more), Dir: t.TempDir()})
			if err == nil {
				err = s.Run(ctx)
			}
			var wrong *store.Unusable
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), "the journal's database") {
				t.Errorf("got %v, want it to end with %q", err, tc.want)
			}
		})
	}
}

// TestUnusableWhileRunning: an error that only the host can mend is reported in log, status
// and /readyz with advice; play goes on, and recovery is automatic once it is mended.
func TestUnusableWhileRunning(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	as := playerRole(t, db, "player")
	kick := "; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + as.User + "'"
	s := serve(t, Options{}, conf(postgresConf(as))).ready()
	p := join(t, s.address(), wamble.Token{})
	for _, tc := range []struct{ name, wrong, right, want string }{
		{"may not log in", "ALTER ROLE " + as.User + " NOLOGIN" + kick, "ALTER ROLE " + as.User + " LOGIN", "Check db-user"},
		{"may not write", "REVOKE UPDATE ON journal_cursors FROM " + as.User, "GRANT UPDATE ON journal_cursors TO " + as.User, "GRANT"},
	} {
		pgtest.Execute(t, db, tc.wrong)
		until(t, tc.name+": /readyz says it", func() bool {
			p.move(t.Context())
			got := s.readyz()
			return strings.HasPrefix(got, "200 ready; but the database: ") && strings.Contains(got, tc.want)
		})
		if got := s.Status(t.Context()).Profiles[0].Trouble; !strings.Contains(got, tc.want) {
			t.Errorf("%s: the status says %q, want %q", tc.name, got, tc.want)
		}
		until(t, tc.name+": the log says it", func() bool { return strings.Contains(s.log.String(), tc.want) })
		if !p.move(t.Context()) {
			t.Errorf("%s: no move meanwhile", tc.name)
		}
		pgtest.Execute(t, db, tc.right)
		until(t, tc.name+": it recovers", func() bool { return s.readyz() == "200 ready" })
	}
	until(t, "the journal drains", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
}

// TestDamagedFile: damage in the middle of a SQLite file is found at the start after a crash,
// though nothing reads there.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := spawn(t, dir, conf(""))
	p := join(t, c.address(), wamble.Token{})
	for range 5 {
		p.move(t.Context())
	}
	c.kill()
	damageTable(t, filepath.Join(dir, "games.db"))
	s := serve(t, Options{Dir: dir}, conf("")).ready()
	until(t, "it is found", func() bool {
		got := s.readyz()
		return strings.HasPrefix(got, "200 ready; but the database: ") && strings.Contains(got, "The file is damaged")
	})
}

// damageTable breaks the page of a table that no start reads, and leaves a log as a
// crash does.
func damageTable(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	if err := db.QueryRow("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'payouts'").Scan(&page, &size); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil { // which empties the log
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size)), (page-1)*size); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
}
