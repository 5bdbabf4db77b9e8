package server

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/handoff"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/schema"
	"wamble/internal/store/sqlite"
)

// TestHandoffMigrates: the next process needs a newer schema. A handoff that fails leaves the
// database as it was, so that the old binary starts again; one that succeeds migrates while
// players play on, and they lose nothing.
func TestHandoffMigrates(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	version := func() int { return pgtest.Query[int](t, db, `SELECT max(version) FROM schema_migrations`) }
	text := staying(t, conf(postgresConf(db)))
	i := spawnImage(t, text)
	c := gather(t, i.address(), 6)
	c.play()
	c.more(t, 50)
	before := version()
	i.write("extra.sql", "CREATE TABLE extra (id BIGINT PRIMARY KEY)")
	var foreseen handoff.Result
	if err := admin.Ask(t.Context(), i.dir, "handoff", admin.Arguments{DryRun: true}, &foreseen); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(foreseen.Preview, "\n"); !strings.Contains(said,
		"migration extra.sql, after which an older binary cannot use it") || version() != before {
		t.Errorf("it would do %q; the schema is %d, was %d", said, version(), before)
	}
	refused := func(trouble, conf, want string) {
		t.Helper()
		i.write("trouble", trouble)
		i.write("test.conf", conf)
		if done, err := i.handOff(""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v; want %q", done, err, want)
		}
		i.write("trouble", "")
		i.write("test.conf", text)
		c.more(t, 50)
		if got := version(); got != before {
			t.Errorf("%s: the schema is %d, was %d", want, got, before)
		}
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	refused("", fmt.Sprintf("%s(def admin-listen %q)", text, other.Addr()), "admin listener")
	refused("error", text, "the old one serves again: trouble")
	i.kill()
	i.launch() // the binary of before
	c.more(t, 50)

	release := pgtest.Lock(t, db, `SELECT pg_advisory_lock(131260330699877)`)
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	c.more(t, 100)
	until(t, "the database is away", func() bool { return i.status().Profiles[0].Away })
	if got := version(); got != before {
		t.Errorf("the schema is %d before it could be migrated", got)
	}
	c.more(t, 100)
	release()
	until(t, "the database has the newer schema", func() bool { return version() == before+1 })
	until(t, "the database is back", func() bool { return !i.status().Profiles[0].Away })
	c.more(t, 100)
	c.finish()
	i.end()
	c.verify(t, openPostgres(t, db))
	if err := openPostgres(t, db).Migrate(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "newer wamble") {
		t.Errorf("the old binary and the new schema: got %v", err)
	}
}

// TestBackAfterUpgrade: a newer process has migrated the database by an additive step. The
// former binary starts on it again, and everything is there.
func TestBackAfterUpgrade(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	for name, store := range map[string]string{"SQLite": "", "PostgreSQL": postgresConf(db)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := spawnImage(t, staying(t, conf(store)))
			c := gather(t, i.address(), 4)
			c.play()
			c.more(t, 50)
			i.write("extra.sql", "-- additive\nCREATE TABLE extra (id BIGINT PRIMARY KEY)")
			if _, err := i.handOff(""); err != nil {
				t.Fatal(err)
			}
			until(t, "the database has the newer schema", func() bool {
				if name == "PostgreSQL" {
					return pgtest.Query[int](t, db,
						`SELECT count(*) FROM schema_migrations WHERE name = 'extra.sql'`) == 1
				}
				return newer(t, i.dir)
			})
			c.more(t, 50)
			i.kill()
			i.launch() // the binary of before
			c.more(t, 50)
			c.finish()
			i.end()
			if name == "PostgreSQL" {
				c.verify(t, openPostgres(t, db))
				return
			}
			file := openSQLite(t, i.dir)
			c.verify(t, file)
		})
	}
}

// newer reports whether the database of a data directory has a newer schema than this
// program's, with which this program can still work.
func newer(t testing.TB, dir string) bool {
	t.Helper()
	file := openSQLite(t, dir)
	st, err := file.Status(t.Context())
	return err == nil && st.Version > st.Latest && st.Refused() == nil
}

// TestMigrationsAreMarked: every migration declares whether an older program works with the
// database after it.
func TestMigrationsAreMarked(t *testing.T) {
	t.Parallel()
	for _, load := range []func() ([]schema.Migration, error){postgres.Migrations, sqlite.Migrations} {
		all, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if !schema.Marked(m.Version) {
				t.Errorf("%s has no row in the table of additive migrations", m.Name)
			}
		}
	}
	files, err := sqlite.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if m := files[6]; m.Version != 7 || m.Additive {
		t.Errorf("SQLite's %s makes tables anew, and is additive", m.Name)
	}
}
