package server

import (
	"fmt"
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
)

// apart is the configuration of a machine whose journal is in another database than its
// games.
func apart(games, journal postgres.Options) string {
	return shared(games, "one") + fmt.Sprintf("(def journal-db-name %q)\n", journal.Name)
}

// TestSharedDump: one dump of a database with games and journal, made while a server runs on
// it, has every acknowledged move, those that only the journal has, too. A machine without
// other data goes on from it, but not from one that lacks a record.
func TestSharedDump(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := spawn(t, t.TempDir(), shared(db, "one"))
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 50)
	release := pgtest.Lock(t, db, "BEGIN; LOCK TABLE boards IN EXCLUSIVE MODE")
	c.more(t, 100)
	c.finish()
	dump := pgtest.Dump(t, db)
	release()
	s.kill()
	restored := pgtest.Restored(t, dump)
	if got, all := pgtest.Query[int64](t, restored, "SELECT count(*) FROM moves"), c.moves.Load(); got >= all {
		t.Errorf("the games of the dump have %d moves of %d: nothing is proved", got, all)
	}
	respawn(t, t.TempDir(), shared(restored, "two")).end()
	c.verify(t, openPostgres(t, restored))

	short := pgtest.Restored(t, dump)
	pgtest.Execute(t, short, "DELETE FROM shard_log WHERE seq = (SELECT seq FROM shards)")
	refuses(t, shared(short, "two"), "the log ends with record ")
}

// refuses expects that a server on a new directory ends with an error that contains why.
func refuses(t testing.TB, text, why string) {
	t.Helper()
	c, _ := begin(t, t.TempDir(), text)
	if err := c.cmd.Wait(); err == nil || !strings.Contains(c.log.String(), why) {
		t.Errorf("it ended with %v, want %q\n%s", err, why, c.log)
	}
}

// TestDumpsApart: where the journal is in another database, its dump is made after that of
// the games: messages applied in between are applied again from what the machine has
// retained. The other order is refused.
func TestDumpsApart(t *testing.T) {
	t.Parallel()
	games, journal, dir := pgtest.Migrated(t), pgtest.Migrated(t), t.TempDir()
	s := spawn(t, dir, apart(games, journal))
	c := gather(t, s.address(), 4)
	settle := func() {
		t.Helper()
		c.play()
		c.more(t, 100)
		c.finish()
		var stats runner.Stats
		until(t, "messages have left the journal", func() bool {
			err := admin.Ask(t.Context(), dir, "runner-stats", nil, &stats)
			return err == nil && depth(stats) == 0
		})
	}
	settle()
	early := pgtest.Dump(t, journal)
	first := pgtest.Dump(t, games)
	settle()
	second := pgtest.Dump(t, journal)
	late := pgtest.Dump(t, games)
	s.kill()

	restored := pgtest.Restored(t, first)
	before := pgtest.Query[int64](t, restored, "SELECT count(*) FROM moves")
	respawn(t, dir, apart(restored, pgtest.Restored(t, second))).end()
	c.verify(t, openPostgres(t, restored))
	if all := c.moves.Load(); before >= all {
		t.Errorf("the games of the dump have %d moves of %d: nothing is proved", before, all)
	}

	refuses(t, apart(pgtest.Restored(t, late), pgtest.Restored(t, early)), "the database is ahead of the journal")
}
