package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/store"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
)

// BenchmarkApply measures moves per second with synchronous FULL.
func BenchmarkApply(b *testing.B) {
	storetest.Bench(b, func(b *testing.B, start store.Batch) (store.Store, storetest.Floor) {
		store := open(b)
		if err := store.Apply(b.Context(), start); err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(b.TempDir(), "floor.db")
		twin, err := sqlite.Open(sqlite.Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		if err := twin.Migrate(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		if err := twin.Apply(b.Context(), start); err != nil {
			b.Fatal(err)
		}
		if err := twin.Close(); err != nil {
			b.Fatal(err)
		}
		return store, floor(b, path)
	})
}

// floor writes with the settings of the store and one statement per table.
func floor(b *testing.B, path string) storetest.Floor {
	db, err := sql.Open("sqlite",
		"file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=wal_autocheckpoint(4000)&_pragma=cache_size(-32000)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	stmts := map[string]*sql.Stmt{}
	exec := func(head, tuple, tail string, args []any) error {
		if len(args) == 0 {
			return nil
		}
		width := strings.Count(tuple, "?")
		// A prepared statement has a fixed number of rows: the last is
		// repeated, which changes nothing.
		for len(args)/width%16 != 0 && tail != "" {
			args = append(args, args[len(args)-width:]...)
		}
		text := head + strings.TrimSuffix(strings.Repeat(tuple+",", len(args)/width), ",") + tail
		s, ok := stmts[text]
		if !ok {
			if s, err = conn.PrepareContext(b.Context(), text); err != nil {
				return err
			}
			stmts[text] = s
		}
		_, err := s.Exec(args...)
		return err
	}
	return func(batch store.Batch) error {
		rows := storetest.FloorRows(batch)
		if _, err := conn.ExecContext(b.Context(), "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		for _, st := range []struct {
			head, tuple, tail string
			args              []any
		}{
			{"UPDATE boards SET fen = v.column2, status = v.column3, version = v.column4, last_assignment_time = ifnull(v.column5, last_assignment_time), updated_at = v.column6 FROM (VALUES ", "(?,?,?,?,?,?)", ") v WHERE boards.id = v.column1", rows.Boards},
			{"INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves) VALUES ", "(?,?,?,?,?)", "", rows.Runs},
			{"UPDATE sessions SET games_played = games_played + v.column2 FROM (VALUES ", "(?,?)", ") v WHERE sessions.id = v.column1", rows.Sessions},
			{"INSERT INTO reservations (board_id, session_id, reserved_for_white, started_at, expires_at) VALUES ",
				"(?,?,?,?,?)",
				" ON CONFLICT (board_id) DO UPDATE SET session_id = excluded.session_id, reserved_for_white = excluded.reserved_for_white, started_at = excluded.started_at, expires_at = excluded.expires_at", rows.Held},
			{"DELETE FROM reservations WHERE board_id IN (VALUES ", "(?)", ")", rows.Freed},
			{"INSERT OR REPLACE INTO journal_cursors (journal_id, profile, message) VALUES ", "(?,?,?)", "", rows.Cursor},
		} {
			if err := exec(st.head, st.tuple, st.tail, st.args); err != nil {
				return err
			}
		}
		_, err := conn.ExecContext(b.Context(), "COMMIT")
		return err
	}
}

// BenchmarkGrowth measures what a move costs while the file grows.
func BenchmarkGrowth(b *testing.B) {
	storetest.Growth(b, func(b *testing.B) store.Store { return open(b) }, func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	})
}
