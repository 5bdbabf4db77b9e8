package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"wamble/internal/loop"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// TestHandoffMovesNoJournal: a handoff to a process whose journal would be in another place
// is refused, and the server goes on unchanged.
func TestHandoffMovesNoJournal(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	text := staying(t, conf(postgresConf(db)))
	other := text + "(def journal \"postgres\")\n"
	for name, c := range map[string]struct{ from, to, want string }{
		"from disk": {text, other, "from the data directory to main in PostgreSQL " + db.Name},
		"to disk":   {other, text, "to the data directory: stop the server and start it"},
		"another":   {other, other + "(def journal-name \"b\")", "to b in PostgreSQL " + db.Name},
	} {
		i := spawnImage(t, c.from)
		crowd := gather(t, i.address(), 2)
		crowd.play()
		crowd.more(t, 10)
		i.write("test.conf", c.to)
		if _, err := i.handOff(""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		crowd.more(t, 10)
		crowd.finish()
		i.end()
	}
}

// TestJournalLeftOnDisk: a server configured to keep its journal in PostgreSQL does not start
// while the journal on its disk has messages that the database lacks, and reports what to do;
// after that nothing is lost.
func TestJournalLeftOnDisk(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	proxy, way := pgtest.NewProxy(t, db)
	dir, text := t.TempDir(), staying(t, conf(postgresConf(way)))
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 20)
	pass := proxy.Still()
	c.more(t, 20)
	s.kill()
	pass()
	shared := text + "(def journal \"postgres\")\n"
	_, err := Open(Options{Config: loadConf(t, shared), Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "messages that the database does not have yet") ||
		!strings.Contains(err.Error(), `(def journal "disk")`) {
		t.Fatalf("got %v, want advice", err)
	}
	s = spawn(t, dir, text)
	c.more(t, 20)
	s.end()
	s = spawn(t, dir, shared)
	c.more(t, 20)
	c.finish()
	s.end()
	c.verify(t, openPostgres(t, db))
}

// TestJournalLeftInPostgres: a server configured to keep its journal on disk again does not
// start while the one in PostgreSQL has messages that the games' database lacks, and reports
// what to do; after that nothing is lost.
func TestJournalLeftInPostgres(t *testing.T) {
	t.Parallel()
	db, of := pgtest.Migrated(t), pgtest.Migrated(t)
	proxy, way := pgtest.NewProxy(t, db)
	where := fmt.Sprintf("(def journal-db-host %q) (def journal-db-port %d) (def journal-db-user %q) (def journal-db-pass %q) (def journal-db-name %q)\n",
		of.Host, of.Port, of.User, of.Password, of.Name)
	dir, text := t.TempDir(), staying(t, conf(postgresConf(way)))
	shared := text + where + "(def journal \"postgres\")\n"
	s := spawn(t, dir, shared)
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 20)
	pass := proxy.Still()
	c.more(t, 20)
	s.kill()
	pass()
	for _, disk := range []string{text + where, text} {
		_, err := Open(Options{Config: loadConf(t, disk), Dir: dir})
		if err == nil || !strings.Contains(err.Error(), `(def journal "postgres")`) {
			t.Fatalf("got %v, want advice", err)
		}
	}
	s = respawn(t, dir, shared)
	c.more(t, 20)
	s.end()
	s = spawn(t, dir, text+where)
	c.more(t, 20)
	s.end()
	s = spawn(t, dir, text) // the second start does not check again
	c.more(t, 20)
	c.finish()
	s.end()
	c.verify(t, openPostgres(t, db))
}

// TestJournalOtherDatabase: a server configured to keep its journal in another database does
// not start while the former one may have messages that the games' database lacks, and
// reports what to do. Another address of the same database is accepted, and so is leaving a
// journal that a stop in order has emptied.
func TestJournalOtherDatabase(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"one part": "", "two parts": "(def shards 2)\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, of := pgtest.Migrated(t), pgtest.Migrated(t)
			_, moved := pgtest.NewProxy(t, of)
			proxy, way := pgtest.NewProxy(t, db)
			at := func(o postgres.Options) string {
				return fmt.Sprintf("(def journal-db-host %q) (def journal-db-port %d) (def journal-db-user %q) (def journal-db-pass %q) (def journal-db-name %q)\n",
					o.Host, o.Port, o.User, o.Password, o.Name)
			}
			dir, text := t.TempDir(), staying(t, conf(postgresConf(way)))+"(def journal \"postgres\")\n"+more
			s := spawn(t, dir, text+at(of))
			c := gather(t, s.address(), 4)
			c.play()
			c.more(t, 20)
			pass := proxy.Still()
			c.more(t, 20)
			s.kill()
			pass()
			for _, other := range []string{text, text + at(of) + "(def journal-name \"b\")"} {
				_, err := Open(Options{Config: loadConf(t, other), Dir: dir})
				if err == nil || !strings.Contains(err.Error(), "as they were") ||
					!strings.Contains(err.Error(), markerFile(dir)) {
					t.Fatalf("got %v, want advice", err)
				}
			}
			for _, owner := range []string{"another machine", "its successor"} { // their directories do not have the old journal's marker
				other, err := Open(Options{Config: loadConf(t, text), Dir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if err := other.Run(ctx); !errors.Is(err, loop.ErrOtherDatabase) ||
					!strings.Contains(err.Error(), "DELETE FROM profile_owners") {
					t.Fatalf("%s: got %v, want advice", owner, err)
				}
			}
			for was := (journalMarker{}); !was.emptied; { // again if the server had just lost a part to the machine's load
				s = respawn(t, dir, text+at(moved))
				c.more(t, 20)
				s.end()
				var err error
				if was, err = readMarker(dir); err != nil {
					t.Fatal(err)
				}
			}
			s = spawn(t, dir, text) // in the database of the games
			c.more(t, 20)
			c.finish()
			s.end()
			c.verify(t, openPostgres(t, db))
		})
	}
}

// TestFailoverOfProfiles: another machine goes on with all profiles of a journal.
func TestFailoverOfProfiles(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	ports := freePorts(t, 2)
	ips := []string{fmt.Sprintf("127.0.2.%d", lastNode.Add(1)), fmt.Sprintf("127.0.2.%d", lastNode.Add(1))}
	profiles := fmt.Sprintf("(def cluster-endpoints %q) (def advertise 1) (defprofile red ((def port %d))) (defprofile blue ((def port %d)))\n",
		strings.Join(ips, " "), ports[0], ports[1])
	var machines []*machine
	for i, name := range []string{"one", "two"} {
		m := &machine{dir: t.TempDir(), text: strings.Replace(shared(db, name), `(def listen-address "127.0.0.1")`,
			fmt.Sprintf("(def listen-address %q)", ips[i]), 1) + profiles}
		m.begin(t)
		until(t, "it serves or waits", func() bool { s := m.state(t); return s == "serves" || s == "standby of one" })
		machines = append(machines, m)
	}
	crowds := map[string]*crowd{}
	for i, name := range []string{"red", "blue"} {
		c := gather(t, fmt.Sprintf("udp://%s:%d", ips[0], ports[i]), 3)
		c.play()
		c.more(t, 20)
		crowds[name] = c
	}
	machines[0].kill()
	for _, c := range crowds {
		c.more(t, 20)
		c.finish()
	}
	machines[1].child.end()
	store := openPostgres(t, db)
	for name, c := range crowds {
		c.verifyProfile(t, store, name)
	}
}
