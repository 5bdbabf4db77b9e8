package schema

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"wamble/internal/guard"
	"wamble/internal/store"
)

// Migration is one step to a newer schema. It is applied in a transaction of its own and never
// changes once it is released.
type Migration struct {
	Version int    // 1, 2, 3 … without gaps
	Name    string // name of the file, such as "001_initial_schema.sql"
	SQL     string
	// Additive says that a program which knows only earlier migrations can use the database.
	Additive bool
}

// additive says which migrations are additive, by number and dialect: they add only what an
// older program ignores, and remove nothing that it needs. Missing entries are not additive.
var additive = map[int]map[Dialect]bool{
	1:  {Postgres: true, SQLite: true},
	2:  {Postgres: true, SQLite: true},
	3:  {}, // moves are numbered by ply; a board pays a session once
	4:  {}, // every player has a handle, which an older program does not set
	5:  {Postgres: true, SQLite: true},
	6:  {Postgres: true, SQLite: true},
	7:  {Postgres: true}, // SQLite rebuilds the tables of moves and payouts
	8:  {Postgres: true, SQLite: true},
	9:  {Postgres: true, SQLite: true},
	10: {}, // tokens are hashes, which an older program does not look up
	11: {}, // moves becomes a view
	12: {Postgres: true, SQLite: true},
	13: {Postgres: true, SQLite: true},
	14: {Postgres: true, SQLite: true},
	15: {Postgres: true, SQLite: true},
	16: {Postgres: true, SQLite: true},
	17: {Postgres: true, SQLite: true},
	18: {Postgres: true, SQLite: true},
	19: {Postgres: true, SQLite: true},
	20: {Postgres: true, SQLite: true},
}

// Marked reports whether the table of additive migrations has an entry for a version.
func Marked(version int) bool { return additive[version] != nil }

// Extra are migrations after those of the files, for tests: those of a newer program. Load sets
// their versions.
var Extra []Migration

// Load reads the files NNN_name.sql of a directory, in the order of their numbers.
func Load(files fs.FS, folder string, d Dialect) ([]Migration, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []Migration
	for _, e := range entries { // ReadDir sorts by name
		number, _, ok := strings.Cut(e.Name(), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil || path.Ext(e.Name()) != ".sql" {
			return nil, fmt.Errorf("migration %q is not named NNN_name.sql", e.Name())
		}
		if version != len(all)+1 {
			return nil, fmt.Errorf("migration %q stands where number %d should", e.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, path.Join(folder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		all = append(all, Migration{version, e.Name(), string(text), additive[version][d]})
	}
	for _, m := range Extra {
		m.Version = len(all) + 1
		all = append(all, m)
	}
	return all, nil
}

// Newer is returned when a newer program has applied a migration that is not additive. Nothing
// is written to the database.
type Newer struct {
	Database, Program int // versions
}

func (e *Newer) Error() string {
	return fmt.Sprintf("the database has schema version %d, but this program knows versions up to %d: run a newer wamble, or restore an older database",
		e.Database, e.Program)
}

// Pending returns the migrations after version. Additive migrations that only a newer program
// knows are ignored. Errors: *Newer.
func Pending(all []Migration, version, needs int) ([]Migration, error) {
	if needs > len(all) {
		return nil, &Newer{Database: version, Program: len(all)}
	}
	return all[min(version, len(all)):], nil
}

// Original is returned for a database of the original Wamble that is not adopted in place, or one with tables of
// its names that is not the original's. Nothing is written to the database.
type Original struct {
	Steps   []string // the original's migrations after its first, as far as columns show them
	Lacking []string // columns of its first migration that are missing
	Foreign bool     // it is not the original's
}

func (e *Original) Error() string {
	lacking := strings.Join(e.Lacking, ", ")
	if e.Foreign {
		return "this database has tables of Wamble's names, but not the original's: " + lacking +
			" are missing; nothing was changed"
	}
	why := "with its migrations " + strings.Join(e.Steps, ", ")
	if e.Steps == nil {
		why = "before its migration 001 of 2025-09-25: it lacks " + lacking
	} else if e.Lacking != nil {
		why += ", without " + lacking
	}
	return "this database was made by the original Wamble, " + why + "; only a database of the migration 001 alone is " +
		"adopted in place. Nothing was changed: name a new database with db-name, or none, and bring all rows there " +
		"with 'wamble import'"
}

// Status is the state of a database relative to this program.
type Status struct {
	Server  string    // such as "PostgreSQL 15.18" or "SQLite 3.54.1"
	Version int       // of the database; 0 if empty
	Needs   int       // version that a program must know: that of the last migration that was not additive
	Made    time.Time // time of the first migration, in microseconds; zero if empty
	Latest  int       // newest version that this program knows
	Adopt   bool      // made by the original, without a version so far; Migrate adopts it
	// Original is why a database of the original cannot be adopted; nil if it can, or for any other database.
	Original *Original
	Pending  []string // names of the pending migrations
	Breaks   []string // those of Pending that are not additive
	// Moving is the source of an unfinished move into the database; "" if there is none.
	Moving string
	// Denied is why the user of the connection could not migrate; "" if they could.
	Denied string
}

// Refused returns a *Newer, an *Original or the error of Unfinished if this program cannot use the database.
func (s *Status) Refused() error {
	if s.Original != nil {
		return s.Original
	}
	if s.Needs > s.Latest {
		return &Newer{Database: s.Version, Program: s.Latest}
	}
	return s.Unfinished()
}

// Unfinished returns an error with advice if a move into the database is not finished: it has only a part of the
// source's rows.
func (s *Status) Unfinished() error {
	if s.Moving == "" {
		return nil
	}
	return Advise(fmt.Errorf("%w: the move of %s into it is not finished", store.ErrTransient, s.Moving),
		"Give 'wamble move-store' again, which goes on, or use the configuration of before")
}

// Await sets the pending migrations.
func (s *Status) Await(all []Migration) {
	for _, m := range all[min(s.Version, len(all)):] {
		s.Pending = append(s.Pending, m.Name)
		if !m.Additive {
			s.Breaks = append(s.Breaks, m.Name)
		}
	}
}

// Step is the progress of a migration.
type Step struct {
	Name    string
	Number  int // 1 … Of
	Of      int
	Elapsed time.Duration
	Done    bool
}

// Progress is called when a step starts, every five seconds while it runs, and when it is done.
// It may be nil. It is called from one goroutine at a time.
type Progress func(Step)

const heartbeat = 5 * time.Second

// Run does the work of step s and reports it.
func (p Progress) Run(ctx context.Context, s Step, work func(context.Context) error) error {
	if p == nil {
		return work(ctx)
	}
	p(s)
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- guard.Call("a migration", func() error { return work(ctx) }) }()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Elapsed = time.Since(start)
			p(s)
		case err := <-done:
			s.Elapsed, s.Done = time.Since(start), err == nil
			if err == nil {
				p(s)
			}
			return err
		}
	}
}
