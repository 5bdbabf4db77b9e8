package server

import (
	"strings"
	"testing"

	"wamble/internal/store/postgres/pgtest"
)

// TestStoreGoesBack: a database that comes back with less than it had, as a standby
// that was behind does, is told loudly and gets everything again: while the server
// plays, and at a start.
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
			until(t, "the log tells it", func() bool { return strings.Contains(s.log.String(), "the database has gone back") })
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
