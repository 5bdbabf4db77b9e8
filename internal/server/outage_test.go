package server

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store/postgres/pgtest"
)

// TestStoreAway: while the database is away play goes on, for new players too;
// then everything drains, in order.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	s := serve(t, Options{}, conf(postgresConf(db))).ready()
	c := gather(t, s.address(), 8)
	newcomers := &crowd{}
	c.play()
	c.more(t, 200)
	for _, away := range []struct {
		name string
		do   func(t testing.TB)
	}{
		{"stopped", cluster.Down},
		{"crashed and started again", cluster.Restart},
	} {
		away.do(t)
		c.more(t, 500)
		p := join(t, s.address(), wamble.Token{})
		newcomers.players = append(newcomers.players, p)
		if !p.move(t.Context()) {
			t.Errorf("%s: a new player cannot play", away.name)
		}
		if got := s.readyz(); got != "200 ready" {
			t.Errorf("%s: /readyz says %s", away.name, got)
		}
		if away.name == "stopped" {
			until(t, "the server notices", func() bool {
				return strings.Contains(s.metrics(), `wamble_store_refuses{profile="default"} 1`)
			})
			for _, want := range []string{`wamble_queue_depth\{profile="default"\} [1-9]`,
				`wamble_queue_age_seconds\{profile="default"\} ([1-9]|0\.\d*[1-9])`} {
				if !regexp.MustCompile(want).MatchString(s.metrics()) {
					t.Errorf("moves wait for the database, and the metrics lack %s", want)
				}
			}
			unknown(t, s)
			cluster.Up(t)
		}
		c.more(t, 200)
	}
	c.finish()
	if log := s.log.String(); !strings.Contains(log,
		"the database of the games is away; what is decided stays in the journal") ||
		strings.Contains(log, "err=<nil>") {
		t.Error("the log does not say what an outage means, or names an error that is none")
	}
	c.players = append(c.players, newcomers.players...)
	until(t, "the journal drains", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
	s.end()
	c.verify(t, openPostgres(t, db))
}

// unknown: a token without a session in memory is refused while the store is away, and does
// not become a new player.
func unknown(t *testing.T, s *here) {
	t.Helper()
	_, err := dial(t.Context(), s.address(), wamble.Token{1, 2, 3})
	var denied *wamble.Denied
	if !errors.As(err, &denied) || denied.Code != wamble.Internal {
		t.Errorf("an unknown token during an outage: got %v, want %d", err, wamble.Internal)
	}
}

// TestStoreAwayAtStart: a cold start waits for the database, and reports that.
func TestStoreAwayAtStart(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	cluster.Down(t)
	s := serve(t, Options{}, conf(postgresConf(db)+"(def shutdown-timeout 1)"))
	until(t, "the server says what it waits for", func() bool {
		return strings.HasPrefix(s.readyz(), "503 waiting for the database: ")
	})
	if got := fetch(t, "http://"+s.Addresses().HTTP.String()+"/healthz"); got != "200 alive" {
		t.Errorf("/healthz says %s", got)
	}
	cluster.Up(t)
	s.ready()
	join(t, s.address(), wamble.Token{}).move(t.Context())

	cluster.Down(t)
	waiting := serve(t, Options{}, conf(postgresConf(db)))
	until(t, "the second waits", func() bool {
		return strings.HasPrefix(waiting.readyz(), "503 waiting for the database: ")
	})
	began := time.Now()
	waiting.end() // and stops though it never started
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %v to stop, though nothing is to be brought to the database", took)
	}
}

// TestReadOnlyStore: after a failover to a read-only server play goes on.
func TestReadOnlyStore(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	s := serve(t, Options{}, conf(postgresConf(db))).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 100)
	pgtest.Execute(t, db, "ALTER DATABASE "+db.Name+" SET default_transaction_read_only = on;"+
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	until(t, "the server notices", func() bool { return s.first().StoreState().Refuses })
	c.more(t, 300)
	pgtest.Execute(t, db, "SET transaction_read_only = off; SET default_transaction_read_only = off;"+
		"ALTER DATABASE "+db.Name+" RESET default_transaction_read_only;"+
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	c.finish()
	until(t, "the journal drains", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
	s.end()
	c.verify(t, openPostgres(t, db))
}

// TestStopWhileAway: a stop during an outage stays within its time limit, reports how much is
// in the journal alone, and the next start brings that to the database.
func TestStopWhileAway(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	dir, text := t.TempDir(), conf(postgresConf(db)+"(def shutdown-timeout 1)")
	s := serve(t, Options{Dir: dir}, text).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 50)
	cluster.Down(t)
	c.more(t, 50)
	c.finish()
	s.end()
	left := regexp.MustCompile(`msg="the journal keeps what the database does not have yet;.*messages=([1-9]\d*)`)
	if !left.MatchString(s.log.String()) {
		t.Errorf("it does not say how much is left:\n%s", s.log)
	}
	cluster.Up(t)
	again := serve(t, Options{Dir: dir}, text).ready()
	until(t, "the journal drains", func() bool { return again.Status(t.Context()).Profiles[0].Depth == 0 })
	again.end()
	c.verify(t, openPostgres(t, db))
}

// TestStopWithoutStore: a server that stops while the database is away reports that it stops.
func TestStopWithoutStore(t *testing.T) {
	t.Parallel()
	proxy, way := pgtest.NewProxy(t, pgtest.Migrated(t))
	s := serve(t, Options{}, conf(postgresConf(way))).ready()
	p := join(t, s.address(), wamble.Token{})
	pass := sync.OnceFunc(proxy.Still())
	defer pass()
	if !p.move(t.Context()) {
		t.Fatal("no move")
	}
	s.stop()
	until(t, "it says that it stops", func() bool {
		up, why := s.readiness()
		return !up && strings.HasPrefix(why, "stopping: what the journal has is brought to the database")
	})
	pass()
	s.end()
}
