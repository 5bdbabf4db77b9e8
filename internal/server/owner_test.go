package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/schema"
)

// TestTwoServers: a second server on the same database and profile is refused with the name
// of the first, which plays on; a server that was stopped in order, or that comes back to its
// journal, starts without waiting.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	text := conf(postgresConf(db) + "(def shutdown-timeout 1)")
	dir := t.TempDir()
	first := serve(t, Options{Dir: dir}, text).ready()
	p := join(t, first.address(), wamble.Token{})

	second, err := Open(Options{Config: loadConf(t, text), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("another server writes this profile's games into this database: process %d on host %s, since ",
		os.Getpid(), host)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := second.Run(ctx); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "Stop that server") {
		t.Errorf("the second server ended with %v, want %q", err, want)
	}
	if !p.move(t.Context()) {
		t.Error("the first does not take moves any more")
	}
	first.end()
	again := serve(t, Options{Dir: dir}, text).ready() // its own journal
	again.end()
	serve(t, Options{}, text).ready() // another one
}

// TestMigrateBesideServer: a migration that would break the server on the database is refused
// and names that server; when the server has stopped, or its owner's heartbeat has ended, it
// runs.
func TestMigrateBesideServer(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (text, dir string){
		"SQLite": func(t *testing.T) (text, dir string) { return conf(""), t.TempDir() },
		"PostgreSQL": func(t *testing.T) (text, dir string) {
			return conf(postgresConf(pgtest.Migrated(t))),
				t.TempDir()
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, dir := open(t)
			s := serve(t, Options{Dir: dir}, text).ready()
			p := join(t, s.address(), wamble.Token{})
			schema.Extra = []schema.Migration{{Name: "099_tomorrow.sql", SQL: "SELECT 1"}} // those of a newer program
			t.Cleanup(func() { schema.Extra = nil })
			stores, err := OpenStores(loadConf(t, text).Running(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer CloseStores(stores)
			err = stores[0].MigrateAlone(t.Context(), nil)
			want := fmt.Sprintf("a server runs on this database (process %d on host ", os.Getpid())
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "099_tomorrow.sql") {
				t.Errorf("got %v, want %q and the migration", err, want)
			}
			if !p.move(t.Context()) {
				t.Error("the server does not take moves any more")
			}
			s.end()
			if name == "PostgreSQL" { // one that was killed
				dead := store.Owner{Host: "dead", PID: 1, Since: time.Unix(1, 0)}
				if err := stores[0].Own(t.Context(), "gone", dead, 0); err != nil {
					t.Fatal(err)
				}
			}
			stores[0].ownerTimeout = time.Millisecond
			if err := stores[0].MigrateAlone(t.Context(), nil); err != nil {
				t.Errorf("without a server: %v", err)
			}
		})
	}
}

// TestProfileTaken: a server whose profile was taken over by another one, because it was
// silent, stops serving players and reports why.
func TestProfileTaken(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := serve(t, Options{}, conf(postgresConf(db)+"(def shutdown-timeout 1)")).ready()
	pgtest.Execute(t, db, `UPDATE profile_owners SET journal_id = '\x00112233445566778899aabbccddeeff', host = 'elsewhere', pid = 4711`)
	until(t, "it says who has the profile", func() bool {
		got := s.readyz()
		return strings.HasPrefix(got, "503 ") && strings.Contains(got, "process 4711 on host elsewhere")
	})
	if up, _ := s.first().Stage(); up {
		t.Error("it serves a profile that is not its own")
	}
	pgtest.Execute(t, db, `DELETE FROM profile_owners`)
	until(t, "it serves again", func() bool { return s.readyz() == "200 ready" })
	if !join(t, s.address(), wamble.Token{}).move(t.Context()) {
		t.Error("no move when the profile is its own again")
	}
}

// TestOtherDatabase: a server refuses a database that lacks what has left the journal,
// instead of starting with empty tables: the file was deleted, or the name is wrong. To begin
// anew, the host moves the journal away, or lets a reload move the profile.
func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	refuses := func(t *testing.T, dir, text, want string) {
		t.Helper()
		s, err := Open(Options{Config: loadConf(t, text), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := s.Run(ctx); !errors.Is(err, loop.ErrOtherDatabase) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "move the journal away") {
			t.Errorf("got %v, want a refusal with %q", err, want)
		}
	}
	t.Run("the file is gone", func(t *testing.T) {
		dir := t.TempDir()
		s := serve(t, Options{Dir: dir}, conf("")).ready()
		token := join(t, s.address(), wamble.Token{}).c.Token()
		s.end()
		for _, name := range []string{"games.db", "games.db-wal", "games.db-shm"} {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "kept-"+name)); err != nil &&
				!errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		refuses(t, dir, conf(""), "games.db is empty")
		refuses(t, dir, conf(""), "games.db is empty") // also the second time
		if err := os.Rename(filepath.Join(dir, "kept-games.db"), filepath.Join(dir, "games.db")); err != nil {
			t.Fatal(err)
		}
		again := serve(t, Options{Dir: dir}, conf("")).ready()
		if p := join(t, again.address(), token); p.c.Token() != token {
			t.Error("the player is not known any more")
		}
		again.end()
		for _, name := range []string{"games.db", "journal"} {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "old-"+name)); err != nil {
				t.Fatal(err)
			}
		}
		serve(t, Options{Dir: dir}, conf("")).ready()
	})
	t.Run("another database", func(t *testing.T) {
		right, wrong := pgtest.Migrated(t), pgtest.Migrated(t)
		pgtest.Execute(t, wrong, `UPDATE schema_migrations SET applied_at = applied_at + interval '1 microsecond'`)
		dir, f := t.TempDir(), &file{conf(postgresConf(right))}
		s := serve(t, Options{Dir: dir, Load: f.load}, f.text).ready()
		s.end()
		refuses(t, dir, conf(postgresConf(wrong)), "was made")
		// On purpose: a running server is moved by a reload.
		s = serve(t, Options{Dir: dir, Load: f.load}, f.text).ready()
		f.text = conf(postgresConf(wrong))
		if _, err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "it serves from there", func() bool { return s.readyz() == "200 ready" })
		s.end()
		serve(t, Options{Dir: dir}, f.text).ready().end()
		refuses(t, dir, conf(postgresConf(right)), "was made")
	})
}
