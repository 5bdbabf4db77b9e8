package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/schema"
)

// TestStartBesideOlderServer: a newer server refuses to start if its migrations would break
// an older server that runs another profile on the database; when that one has stopped, it
// migrates.
func TestStartBesideOlderServer(t *testing.T) {
	db := pgtest.Migrated(t)
	older := spawn(t, t.TempDir(), conf(postgresConf(db)))
	p := join(t, older.address(), wamble.Token{})
	schema.Extra = []schema.Migration{{Name: "099_tomorrow.sql", SQL: "SELECT 1"}} // those of a newer program
	t.Cleanup(func() { schema.Extra = nil })
	dir, text := t.TempDir(),
		conf(postgresConf(db)+"(def shutdown-timeout 1) (def advertise 1) (defprofile blue ((def port 0)))")
	newer, err := Open(Options{Config: loadConf(t, text), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	want := fmt.Sprintf("a server runs on this database (process %d on host ", older.cmd.Process.Pid)
	if err := newer.Run(ctx); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "099_tomorrow.sql") {
		t.Errorf("got %v, want %q and the migration", err, want)
	}
	if !p.move(t.Context()) {
		t.Error("the older server does not take moves any more")
	}
	older.end()
	s := serve(t, Options{Dir: dir}, text).ready()
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM schema_migrations WHERE name = '099_tomorrow.sql'`); n != 1 {
		t.Error("it serves without its migration")
	}
	s.end()
}

// TestHandoffBesideOlderServer: a newer process whose migrations would break another server
// on the database plays on without them, and logs why; when that server has stopped, it
// migrates.
func TestHandoffBesideOlderServer(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	migrated := func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM schema_migrations WHERE name = 'extra.sql'`) == 1
	}
	older := serve(t, Options{}, conf(postgresConf(db))).ready()
	i := spawnImage(t, staying(t, conf(postgresConf(db)+"(def advertise 1) (defprofile blue ())")))
	c := gather(t, i.address(), 4)
	c.play()
	c.more(t, 50)
	i.write("extra.sql", "CREATE TABLE extra (id BIGINT PRIMARY KEY)")
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	until(t, "the log says why", func() bool {
		c.more(t, 10)
		return strings.Contains(i.log.String(), "a server runs on this database (process ")
	})
	if migrated() {
		t.Error("it has migrated all the same")
	}
	if !join(t, older.address(), wamble.Token{}).move(t.Context()) {
		t.Error("the older server does not take moves any more")
	}
	older.end()
	until(t, "the database has the newer schema", migrated)
	c.more(t, 50)
	c.finish()
	i.end()
	c.verifyProfile(t, openPostgres(t, db), "blue")
}
