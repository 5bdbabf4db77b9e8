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
)

// Migration is one step from an older schema to a newer one. It is applied in
// a transaction of its own and never changed once it was released.
type Migration struct {
	Version int    // 1, 2, 3 … without gaps
	Name    string // the file, for instance "001_initial_schema.sql"
	SQL     string
	// Additive says that a program which knows only the migrations before can go on
	// with the database.
	Additive bool
}

// Dialect is the kind of a database.
type Dialect int

// The closed list of dialects.
const (
	Postgres Dialect = iota
	SQLite
)

// additive is the table of which migrations are additive, by their number: they add
// what an older program does not look at, and take away nothing that it needs. One
// that is not in the table is not additive.
var additive = map[int]map[Dialect]bool{
	1:  {Postgres: true, SQLite: true},
	2:  {Postgres: true, SQLite: true},
	3:  {}, // moves are numbered by ply; a board pays a session once
	4:  {}, // every player has a handle, which an older program does not give
	5:  {Postgres: true, SQLite: true},
	6:  {Postgres: true, SQLite: true},
	7:  {Postgres: true}, // SQLite rebuilds the tables of moves and payouts
	8:  {Postgres: true, SQLite: true},
	9:  {Postgres: true, SQLite: true},
	10: {}, // tokens are hashes, which an older program does not look for
	11: {}, // moves are a view
	12: {Postgres: true, SQLite: true},
	13: {Postgres: true, SQLite: true},
	14: {Postgres: true, SQLite: true},
	15: {Postgres: true, SQLite: true},
	16: {Postgres: true, SQLite: true},
	17: {Postgres: true, SQLite: true},
	18: {Postgres: true, SQLite: true},
	19: {Postgres: true, SQLite: true},
}

// Marked reports whether the table of additive migrations has a row for a number.
func Marked(version int) bool { return additive[version] != nil }

// Extra are migrations that follow those of the files, in tests: those of a program
// that is newer than this one. Their numbers are given by Load.
var Extra []Migration

// Load reads the files NNN_name.sql of a folder, in the order of their number.
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

// Newer is returned when a newer program than this one has migrated a database, by a
// step that is not additive. Nothing is written to it.
type Newer struct {
	Database, Program int // versions
}

func (e *Newer) Error() string {
	return fmt.Sprintf("the database has schema version %d, but this program knows versions up to %d: run a newer wamble, or restore an older database",
		e.Database, e.Program)
}

// Pending returns the migrations after version. What a database has beyond them is no
// obstacle if it needs none of it. Errors: *Newer.
func Pending(all []Migration, version, needs int) ([]Migration, error) {
	if needs > len(all) {
		return nil, &Newer{Database: version, Program: len(all)}
	}
	return all[min(version, len(all)):], nil
}

// Status says how a database stands to this program.
type Status struct {
	Server  string    // for instance "PostgreSQL 15.18" or "SQLite 3.54.1"
	Version int       // of the database; 0: empty
	Needs   int       // the version that a program must know: that of the last migration that was not additive
	Made    time.Time // of the first migration, to the microsecond; zero: empty
	Latest  int       // the newest that this program knows
	Adopt   bool      // it was made by the original and carries no version yet
	Pending []string  // names of the migrations that are to come
	Breaks  []string  // those of them that are not additive
	// Denied is why the user of the connection could not migrate; "": he could.
	Denied string
}

// Refused returns a *Newer if this program cannot use the database.
func (s *Status) Refused() error {
	if s.Needs > s.Latest {
		return &Newer{Database: s.Version, Program: s.Latest}
	}
	return nil
}

// Await says which migrations are to come.
func (s *Status) Await(all []Migration) {
	for _, m := range all[min(s.Version, len(all)):] {
		s.Pending = append(s.Pending, m.Name)
		if !m.Additive {
			s.Breaks = append(s.Breaks, m.Name)
		}
	}
}

// Step is how far a migration has come.
type Step struct {
	Name    string
	Number  int // 1 … Of
	Of      int
	Elapsed time.Duration
	Done    bool
}

// Progress is told about a step when it starts, every five seconds while it
// runs, and when it is done. It may be nil. It is called from one goroutine at
// a time.
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
