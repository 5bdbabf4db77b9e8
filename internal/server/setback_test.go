package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
)

// TestStoreGoesBack: a database that comes back with less than it had, as a standby that was
// behind does, is reported in the log and gets everything again: while the server plays, and
// at a start.
func TestStoreGoesBack(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		name := "while it plays"
		if stopped {
			name = "at a start"
		}
		t.Run(name, func(t *testing.T) {
			cluster := pgtest.Start(t, false)
			db := cluster.Migrated(t)
			dir, text := t.TempDir(), staying(t, conf(postgresConf(db)))
			s := serve(t, Options{Dir: dir}, text).ready()
			c := gather(t, s.address(), 4)
			c.play()
			c.more(t, 100)
			cluster.Down(t)
			cluster.Remember(t)
			cluster.Up(t)
			const count = "SELECT count(*) FROM moves"
			before := pgtest.Query[int](t, db, count)
			until(t, "the database has moves that it will lose", func() bool {
				c.more(t, 10)
				return pgtest.Query[int](t, db, count) > before+100
			})
			// What is still in the journal is not lost.
			c.finish()
			until(t, "the journal lets go", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
			if stopped {
				s.end()
			}
			cluster.Down(t)
			cluster.GoBack(t)
			cluster.Up(t)
			if stopped {
				s = serve(t, Options{Dir: dir}, text).ready()
			} else {
				c.play()
				c.more(t, 100)
				c.finish()
			}
			until(t, "the log tells it",
				func() bool { return strings.Contains(s.log.String(), "the database has gone back") })
			until(t, "it has everything again", func() bool {
				return strings.Contains(s.log.String(), "the database has again all that it had lost") &&
					s.Status(t.Context()).Profiles[0].Depth == 0 && s.readyz() == "200 ready"
			})
			if got := s.Status(t.Context()).Journal.DeadLetters; got > 0 {
				t.Errorf("%d dead letters", got)
			}
			s.end()
			c.verify(t, openPostgres(t, db))
		})
	}
}

// TestShardsGoBack: a database of four shards comes back with less than it had. Boards have
// travelled between them since, so that each shard's journal has messages that others need:
// all of them are there again.
func TestShardsGoBack(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	s := serve(t, Options{}, staying(t,
		conf(`(def shards 4) (def min-boards 4) (def boards-per-player 4) (def max-moves-per-board 40)`+postgresConf(db)))).ready()
	cluster.Down(t)
	cluster.Remember(t)
	cluster.Up(t)
	c := spread(t, s.address())
	c.play()
	before := openPostgres(t, db)
	c.more(t, 1000)
	until(t, "players meet boards of other shards", func() bool { return c.mixed(t, before) })
	c.finish()
	until(t, "the journal lets go", func() bool { return s.pending() == 0 })
	cluster.Down(t)
	cluster.GoBack(t)
	cluster.Up(t)
	c.play()
	c.more(t, 100)
	c.finish()
	until(t, "it has everything again", func() bool {
		return strings.Count(s.log.String(), "the database has again all that it had lost") == 4 && s.pending() == 0 &&
			s.readyz() == "200 ready"
	})
	if got := s.runner.Stats().DeadLetters; got > 0 {
		t.Errorf("%d dead letters", got)
	}
	s.end()
	c.verify(t, openPostgres(t, db))
}

// TestIdleGoesBack: a profile in which nobody plays notices by itself that another database
// has replaced its own, though none of its queries failed.
func TestIdleGoesBack(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := serve(t, Options{}, conf(postgresConf(db))).ready()
	p := join(t, s.address(), wamble.Token{})
	p.move(t.Context())
	until(t, "the database has everything", func() bool { return s.pending() == 0 })
	pgtest.Execute(t, db, `UPDATE journal_cursors SET message = 1; DELETE FROM move_runs`)
	until(t, "it has everything again", func() bool {
		return strings.Contains(s.log.String(), "the database has again all that it had lost")
	})
	if got := pgtest.Query[int](t, db, "SELECT count(*) FROM moves"); got != 1 {
		t.Errorf("the database has %d moves, want 1", got)
	}
}

// TestStoreLosesMessages: messages that a database has lost and nothing has retained are
// reported in log, status and /readyz, and stay there; play goes on.
func TestStoreLosesMessages(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	dir, text := t.TempDir(), conf(postgresConf(db))
	s := serve(t, Options{Dir: dir}, text).ready()
	p := join(t, s.address(), wamble.Token{})
	p.move(t.Context())
	s.end()
	cluster.Down(t)
	cluster.Remember(t)
	cluster.Up(t)
	s = serve(t, Options{Dir: dir}, text).ready()
	p = join(t, s.address(), p.c.Token())
	for range 20 {
		p.move(t.Context())
	}
	s.end()
	cluster.Down(t)
	cluster.GoBack(t)
	cluster.Up(t)
	if err := os.RemoveAll(filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	s = serve(t, Options{Dir: dir}, text).ready()
	const want = "were kept no more and are lost"
	until(t, "/readyz says it", func() bool {
		got := s.readyz()
		return strings.HasPrefix(got, "200 ready; but the database: it has gone back by ") &&
			strings.Contains(got, want)
	})
	if got := s.Status(t.Context()).Profiles[0].Trouble; !strings.Contains(got, want) ||
		!strings.Contains(got, "Raise journal-keep") {
		t.Errorf("the status says %q, want %q", got, want)
	}
	if !strings.Contains(s.log.String(), "the database has lost messages that are not kept any more") {
		t.Error("the log does not say it")
	}
	if !join(t, s.address(), wamble.Token{}).move(t.Context()) {
		t.Error("no move")
	}
}

// TestShardLosesMessages: the same if one shard alone, whichever it is, has lost messages.
func TestShardLosesMessages(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := serve(t, Options{}, conf(`(def shards 2)`+postgresConf(db))).ready()
	until(t, "the second shard has a player", func() bool {
		p := join(t, s.address(), wamble.Token{})
		p.move(t.Context())
		return p.c.Token().Shard(2) == 1
	})
	until(t, "the database has everything", func() bool { return s.pending() == 0 })
	if err := os.RemoveAll(filepath.Join(s.dir, "kept")); err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, db, fmt.Sprintf(`UPDATE journal_cursors SET message = 1 WHERE profile = '%s'`,
		store.ShardName("default", 1)))
	const want = "were kept no more and are lost"
	until(t, "/readyz says it", func() bool { return strings.Contains(s.readyz(), want) })
	if got := s.Status(t.Context()).Profiles[0].Trouble; !strings.Contains(got, want) {
		t.Errorf("the status says %q, want %q", got, want)
	}
}
