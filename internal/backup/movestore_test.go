package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/schema"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childFile) != "" {
		moveAndDie()
	}
	pgtest.Main(m)
}

// The environment of a child process that moves a store: the file, the database, the direction, and after how many
// steps of progress it kills itself.
const (
	childFile, childDatabase, childWay, childSteps = "WAMBLE_MOVE_FILE", "WAMBLE_MOVE_DATABASE", "WAMBLE_MOVE_WAY",
		"WAMBLE_MOVE_STEPS"
)

// moveAndDie is the child process.
func moveAndDie() {
	var db postgres.Options
	steps, err := strconv.Atoi(os.Getenv(childSteps))
	err = errors.Join(err, json.Unmarshal([]byte(os.Getenv(childDatabase)), &db))
	lite, err1 := sqlite.Open(sqlite.Options{Path: os.Getenv(childFile)})
	pg, err2 := postgres.Open(db)
	if err = errors.Join(err, err1, err2); err == nil {
		source, target := &Store{Store: lite}, &Store{Store: pg}
		if os.Getenv(childWay) == toSQLite {
			source, target = target, source
		}
		_, err = Move(context.Background(), source, target, func(Progress) {
			if steps--; steps == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

const toSQLite = "to SQLite"

// TestMoveKilled: a process that is killed while it moves a store has lost nothing: the next one goes on.
func TestMoveKilled(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"to PostgreSQL", toSQLite} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			e := newEnds(t)
			source, target := e.lite, e.pg
			if way == toSQLite {
				source, target = target, source
			}
			fill(t, source, pageRows+30)
			if err := target.Store.(movable).Migrate(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			before := e.dump(t, source)
			db, err := json.Marshal(e.db)
			if err != nil {
				t.Fatal(err)
			}
			for _, steps := range []int{1, 2, 5, 3, 9} {
				child := exec.CommandContext(t.Context(), os.Args[0])
				child.Env = append(os.Environ(), childFile+"="+e.file, childDatabase+"="+string(db), childWay+"="+way,
					childSteps+"="+strconv.Itoa(steps))
				var said strings.Builder
				child.Stderr = &said
				err := child.Run()
				if state := child.ProcessState; err == nil || state == nil ||
					state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child was not killed at step %d: %v\n%s", steps, err, &said)
				}
			}
			said := ""
			if _, err := Move(t.Context(), source, target, func(p Progress) { said += p.What + "\n" }); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(said, "going on") || strings.Contains(said, "\nplayers\n") {
				t.Errorf("it did not go on:\n%s", said)
			}
			same(t, "the copy", e.dump(t, target), before)
			same(t, "the source", e.dump(t, source), before)
		})
	}
}

// ends are the two databases of a test.
type ends struct {
	lite, pg *Store
	file     string
	db       postgres.Options
}

func newEnds(t *testing.T) *ends {
	t.Helper()
	e := &ends{file: filepath.Join(t.TempDir(), "games.db"), db: pgtest.Empty(t)}
	lite, err := sqlite.Open(sqlite.Options{Path: e.file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lite.Close() })
	pg, err := postgres.Open(e.db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pg.Close() })
	e.lite, e.pg = &Store{Store: lite, Name: "SQLite", File: e.file}, &Store{Store: pg, Name: "PostgreSQL"}
	return e
}

// fill makes a world in a store.
func fill(t *testing.T, s *Store, n int) {
	t.Helper()
	if err := s.Store.(movable).Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	storetest.Whole(t, s.Store, n)
}

// dump is all that a move copies, as text, and the next numbers.
func (e *ends) dump(t *testing.T, of *Store) map[string]string {
	t.Helper()
	side := of.Store.(movable).MoveSide()
	all := map[string]string{}
	for _, table := range schema.MovedTables {
		move, err := schema.Together(t.Context(), e.lite.Store.(movable).MoveSide(), e.pg.Store.(movable).MoveSide(), table)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := side.Page(t.Context(), move, nil, 1<<20, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			t.Errorf("%s: the table %s is empty", of.Name, table.Name)
		}
		var lines []string
		for _, row := range rows {
			lines = append(lines, fmt.Sprintf("%q", row))
		}
		slices.Sort(lines)
		all[table.Name] = strings.Join(lines, "\n")
	}
	next, err := side.Numbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all["numbers"] = fmt.Sprint(next)
	st, err := of.Store.(movable).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all["made"] = st.Made.String()
	return all
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s:\n got %.600s\nwant %.600s", what, name, got[name], want[name])
		}
	}
}

func quiet(Progress) {}

// ways are the directions of a move.
var ways = map[string]func(*ends) (source, target *Store){
	"to PostgreSQL": func(e *ends) (source, target *Store) { return e.lite, e.pg },
	"to SQLite":     func(e *ends) (source, target *Store) { return e.pg, e.lite },
}

// TestMove: all rows of a world go from SQLite to PostgreSQL and back, of several pages, and the source stays as
// it was. The copy goes on with the next numbers, and is the same world for its journal.
func TestMove(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnds(t)
			source, target := way(e)
			fill(t, source, pageRows+30)
			if err := target.Store.(movable).Migrate(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			before := e.dump(t, source)
			moved, err := Move(t.Context(), source, target, quiet)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "the copy", e.dump(t, target), before)
			same(t, "the source", e.dump(t, source), before)
			if got := moved.Tables["boards"].Rows; got != pageRows+30 {
				t.Errorf("%d boards are told, want %d", got, pageRows+30)
			}
			if !strings.HasPrefix(moved.Games, fmt.Sprint(pageRows+30)) {
				t.Errorf("the games: %s", moved.Games)
			}
			if _, err := Move(t.Context(), source, target, quiet); !errors.Is(err, ErrMoved) {
				t.Errorf("once more: got %v, want %v", err, ErrMoved)
			}
			if _, err := Move(t.Context(), target, source, quiet); !errors.Is(err, ErrMoved) {
				t.Errorf("back into the source: got %v, want %v", err, ErrMoved)
			}
			storetest.WholeMore(t, target.Store)
			if _, err := Move(t.Context(), target, source, quiet); !errors.Is(err, ErrNotEmpty) {
				t.Errorf("back into the source, which is older: got %v, want %v", err, ErrNotEmpty)
			}
		})
	}
}

// TestMoveInterrupted: a move that ends after any of its steps leaves a database which no server uses, and goes on
// when it is given again. If the source has changed meanwhile, it begins anew.
func TestMoveInterrupted(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnds(t)
			source, target := way(e)
			fill(t, source, 40)
			said := ""
			// Each round copies one table more than the one before, and ends.
			rounds := 0
			for ; ; rounds++ {
				ctx, stop := context.WithCancel(t.Context())
				fresh := 0
				_, err := Move(ctx, source, target, func(p Progress) {
					said += p.What + "\n"
					if fresh++; fresh == 3 {
						stop()
					}
				})
				stopped := ctx.Err() != nil
				stop()
				if err == nil {
					break
				}
				if !stopped {
					t.Fatal(err)
				}
				st, err := target.Store.(movable).Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := st.Refused(); err == nil || !strings.Contains(err.Error(), "move-store") {
					t.Fatalf("round %d: a server may use the target: %v", rounds, err)
				}
				if err := target.Store.(movable).Migrate(t.Context(), nil); err == nil {
					t.Fatalf("round %d: the target was migrated", rounds)
				}
				if rounds == 3 {
					storetest.WholeMore(t, source.Store)
				}
				if rounds > 50 {
					t.Fatalf("it never ends; said:\n%s", said)
				}
			}
			if !strings.Contains(said, "going on") || strings.Count(said, "beginning anew") != 1 {
				t.Errorf("said:\n%s", said)
			}
			same(t, "the copy", e.dump(t, target), e.dump(t, source))
		})
	}
}

// TestMoveRefuses: a target that has rows, or is of the same kind, and an empty source are refused, and stay as
// they are.
func TestMoveRefuses(t *testing.T) {
	t.Parallel()
	e := newEnds(t)
	if _, err := Move(t.Context(), e.lite, e.pg, quiet); err == nil || !strings.Contains(err.Error(), "nothing to move") {
		t.Errorf("an empty source: %v", err)
	}
	fill(t, e.lite, 10)
	fill(t, e.pg, 10)
	before := e.dump(t, e.pg)
	if _, err := Move(t.Context(), e.lite, e.pg, quiet); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a target with games: got %v, want %v", err, ErrNotEmpty)
	}
	same(t, "the target", e.dump(t, e.pg), before)
	if _, err := Move(t.Context(), e.lite, e.lite, quiet); err == nil || !strings.Contains(err.Error(), "one kind") {
		t.Errorf("of one kind: %v", err)
	}
	other := newEnds(t)
	ctx, stop := context.WithCancel(t.Context())
	_, err := Move(ctx, e.lite, other.pg, func(Progress) { stop() })
	if err == nil {
		t.Fatal("a move ends with its context")
	}
	if err := os.Remove(e.file + "-owner"); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	fill(t, other.lite, 10)
	if _, err := Move(t.Context(), other.lite, other.pg, quiet); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a move of another store was begun: got %v, want %v", err, ErrNotEmpty)
	}
}

// TestMovedTables: each table and column of both schemas is copied, or NotMoved says why it is not.
func TestMovedTables(t *testing.T) {
	t.Parallel()
	e := newEnds(t)
	known := map[string]bool{}
	for _, of := range schema.MovedTables {
		known[of.Name] = true
	}
	for _, s := range []*Store{e.lite, e.pg} {
		if err := s.Store.(movable).Migrate(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		tables, err := s.Store.(movable).MoveSide().Tables(t.Context())
		if err != nil || len(tables) < len(schema.MovedTables) {
			t.Fatalf("%s: tables %v, %v", s.Name, tables, err)
		}
		for _, name := range tables {
			if !known[name] && schema.NotMoved[name] == "" {
				t.Errorf("%s: a move would forget the table %s: add it to schema.MovedTables, or say in NotMoved why not", s.Name, name)
			}
		}
	}
	for _, of := range schema.MovedTables {
		if _, err := schema.Together(t.Context(), e.lite.Store.(movable).MoveSide(), e.pg.Store.(movable).MoveSide(), of); err != nil {
			t.Errorf("%s: %v", of.Name, err)
		}
	}
}
