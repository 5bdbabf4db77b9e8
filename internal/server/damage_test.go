package server

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wamble"
	"wamble/runner/pebblestore"
)

// crashed is the data directory of a server that was killed while players played.
type crashed struct {
	dir, text string
	token     wamble.Token // of its player
	log       string       // the newest log of its journal
	used      []byte       // of the log, before the zeros that were written ahead
}

// crash lets a server play until a log has more than the last 32 KB, in which damage counts
// as the torn end of a crash, and kills it. The database gets nothing of that: a journal that
// ends before what the database has would be refused.
func crash(t *testing.T) *crashed {
	t.Helper()
	c := &crashed{dir: t.TempDir(), text: conf("")}
	spawn(t, c.dir, c.text).end() // Pebble takes damage of the very first log for its end
	s := spawn(t, c.dir, c.text)
	p := join(t, s.address(), wamble.Token{})
	c.token = p.c.Token()
	p.move(t.Context())
	games := openGames(t, c.dir)
	games.SetMaxOpenConns(1)
	if _, err := games.Exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	until(t, "a log has something", func() bool {
		for range 50 {
			p.move(t.Context())
		}
		c.look(t)
		return len(c.used) > 128<<10
	})
	s.kill()
	if _, err := games.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	c.look(t)
	return c
}

// look finds the newest log.
func (c *crashed) look(t *testing.T) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(JournalDir(c.dir), "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	c.log = slices.Max(logs)
	if c.used, err = os.ReadFile(c.log); err != nil {
		t.Fatal(err)
	}
	c.used = bytes.TrimRight(c.used, "\x00")
}

// serves starts the server again, and checks that its player goes on.
func (c *crashed) serves(t *testing.T) *here {
	t.Helper()
	s := serve(t, Options{Dir: c.dir}, c.text).ready()
	p := join(t, s.address(), c.token)
	if p.c.Token() != c.token {
		t.Error("the player is not known any more")
	}
	for range 5 {
		if !p.move(t.Context()) {
			t.Error("no move")
		}
	}
	until(t, "the journal drains", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
	return s
}

// TestDamagedJournal: a flipped bit inside a log keeps the server from starting. The error
// names what is damaged, what is safe and what helps, and nothing is changed; with the
// journal salvaged as it advises, the server serves.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	c := crash(t)
	journal, salvaged := JournalDir(c.dir), filepath.Join(c.dir, "salvaged")
	damaged := bytes.Clone(c.used)
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(c.log, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Open(Options{Config: loadConf(t, c.text), Dir: c.dir})
		if err == nil {
			s.Close()
			t.Fatal("it was opened")
		}
		for _, want := range []string{"open the journal: open " + journal + ": the storage is damaged: ",
			"Nothing was changed, and what the database has is safe",
			"'wamble runner salvage --dir " + journal + " NEW'"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, want it to say %q", err, want)
			}
		}
	}
	if now, err := os.ReadFile(c.log); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the log was changed: %v", err)
	}
	games := openGames(t, c.dir)
	before := countMoves(t, games)
	if loss, err := pebblestore.At(journal, pebblestore.Options{}).Salvage(salvaged); err != nil ||
		loss.Log != filepath.Base(c.log) || loss.At == 0 {
		t.Fatalf("salvaged with the loss %+v, error %v", loss, err)
	}
	// 'wamble runner restore' would give it a new id, under which the drain's unfinished
	// batch waits for a minute.
	if err := errors.Join(os.Rename(journal, journal+"-damaged"), os.Rename(salvaged, journal)); err != nil {
		t.Fatal(err)
	}
	s := c.serves(t)
	if n := s.Status(t.Context()).Journal.DeadLetters; n > 0 {
		t.Errorf("%d dead letters", n)
	}
	if now := countMoves(t, games); now < before+50 {
		t.Errorf("the database had %d moves, and has %d with those that were salvaged", before, now)
	}
}

// TestJournalCutShort: a server whose journal is shorter than what was acknowledged reports
// that at its start, once, and serves.
func TestJournalCutShort(t *testing.T) {
	t.Parallel()
	const told = "the journal is shorter than what was acknowledged"
	c := crash(t)
	if err := os.Truncate(c.log, int64(len(c.used)/2)); err != nil {
		t.Fatal(err)
	}
	s := c.serves(t)
	if log := s.log.String(); !strings.Contains(log, told) ||
		!strings.Contains(log, "journal="+JournalDir(c.dir)+" missing_writes=") {
		t.Error("the log does not tell it")
	}
	s.end()
	if s = c.serves(t); strings.Contains(s.log.String(), told) {
		t.Error("it is told again")
	}
}

func openGames(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "games.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func countMoves(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM moves").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
