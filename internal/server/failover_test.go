package server

import (
	"fmt"
	"strings"
	"testing"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// playUntilDown lets players play, and kills the primary when it has some of their moves.
func playUntilDown(t *testing.T, s *here, primary *pgtest.Cluster, db postgres.Options) *crowd {
	t.Helper()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 100)
	until(t, "the database has something",
		func() bool { return pgtest.Query[int](t, db, "SELECT count(*) FROM moves") > 0 })
	primary.Down(t)
	return c
}

// goesOn lets players finish on the database that took over, which then has every move.
func goesOn(t *testing.T, s *here, c *crowd, db postgres.Options) {
	t.Helper()
	c.more(t, 100)
	c.finish()
	until(t, "the journal drains", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
	if got := s.Status(t.Context()).Journal.DeadLetters; got > 0 {
		t.Errorf("%d dead letters", got)
	}
	s.end()
	c.verify(t, openPostgres(t, db))
}

// TestFailover: when the primary has failed and its standby is promoted at another address, a
// reload moves a profile there, by that address alone or in a list with the primary's;
// another database is refused.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		t.Run(fmt.Sprintf("in a list: %v", listed), func(t *testing.T) {
			primary := pgtest.Start(t, false)
			db := primary.OverTCP(primary.Migrated(t))
			port := freePorts(t, 1)[0]
			on := func(hosts string) string {
				o := db
				o.Host = hosts
				return strings.Replace(conf(postgresConf(o)), "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
			}
			first := fmt.Sprintf("127.0.0.1:%d", db.Port)
			f := &file{on(first)}
			s := serve(t, Options{Load: f.load}, f.text).ready()
			c := playUntilDown(t, s, primary, db)
			standby := primary.Clone(t)
			c.more(t, 100)
			second := fmt.Sprintf("127.0.0.1:%d", standby.Server().Port)

			if !listed {
				stranger := db
				stranger.Port, stranger.Name = standby.Server().Port, "postgres"
				f.text = strings.Replace(conf(postgresConf(stranger)), "(def port 0)",
					fmt.Sprintf("(def port %d)", port), 1)
				if _, err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "must be there") {
					t.Errorf("another database: got %v, want a refusal", err)
				}
				f.text = on(second)
			} else {
				f.text = on(first + "," + second)
			}
			if _, err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.ready()
			db.Port = standby.Server().Port
			goesOn(t, s, c, db)
		})
	}
}

// TestFailoverInList: db-host names the primary and its standby. When the primary is gone
// and the standby is promoted, the server goes on there by itself.
func TestFailoverInList(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t, false)
	db := primary.OverTCP(primary.Migrated(t))
	standby := primary.Standby(t)
	both := db
	both.Host = fmt.Sprintf("%s:%d,%s:%d", db.Host, db.Port, db.Host, standby.Server().Port)
	s := serve(t, Options{}, conf(postgresConf(both))).ready()
	c := playUntilDown(t, s, primary, db)
	until(t, "the server notices", func() bool { return s.Status(t.Context()).Profiles[0].Away })
	c.more(t, 100)
	standby.Promote(t)
	until(t, "the database is back", func() bool { return !s.Status(t.Context()).Profiles[0].Away })
	db.Port = standby.Server().Port
	goesOn(t, s, c, db)
}
