package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// BenchmarkApply measures moves per second with synchronous_commit and fsync on.
func BenchmarkApply(b *testing.B) {
	cluster := pgtest.Start(b, true)
	storetest.Bench(b, func(b *testing.B, start store.Batch) (store.Store, storetest.Floor) {
		db := open(b, cluster.Migrated(b))
		o := cluster.Migrated(b)
		for _, s := range []store.Store{db, open(b, o)} {
			if err := s.Apply(b.Context(), start); err != nil {
				b.Fatal(err)
			}
		}
		conn, err := pgx.Connect(b.Context(), o.DSN())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(b.Context()) })
		return db, floor(b, conn)
	})
}

// floorStatements write the rows of one table each.
var floorStatements = map[string]string{
	"boards": `UPDATE boards b SET fen = v.fen, status = v.status, version = v.version, last_assignment_time = coalesce(v.at, b.last_assignment_time)
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[]) AS v(id, fen, status, version, at) WHERE b.id = v.id`,
	"moves":    `INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves) SELECT a, b, c, d, e::json FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[]) AS v(a, b, c, d, e)`,
	"sessions": `UPDATE sessions s SET games_played = games_played + v.games FROM unnest($1::bigint[], $2::bigint[]) AS v(id, games) WHERE s.id = v.id`,
	"held": `INSERT INTO reservations (board_id, session_id, reserved_for_white, started_at, expires_at)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bool[], $4::timestamptz[], $5::timestamptz[])
		ON CONFLICT (board_id) DO UPDATE SET session_id = EXCLUDED.session_id, reserved_for_white = EXCLUDED.reserved_for_white, started_at = EXCLUDED.started_at, expires_at = EXCLUDED.expires_at`,
	"freed":  `DELETE FROM reservations WHERE board_id = ANY($1::bigint[])`,
	"cursor": `INSERT INTO journal_cursors (journal_id, profile, message) VALUES ($1, $2, $3) ON CONFLICT (journal_id, profile) DO UPDATE SET message = EXCLUDED.message`,
}

func floor(b *testing.B, conn *pgx.Conn) storetest.Floor {
	for name, sql := range floorStatements {
		if _, err := conn.Prepare(b.Context(), name, sql); err != nil {
			b.Fatal(err)
		}
	}
	return func(batch store.Batch) error {
		r := storetest.FloorRows(batch)
		q := &pgx.Batch{}
		q.Queue("BEGIN")
		q.Queue("boards", ints(r.Boards, 6, 0), texts(r.Boards, 6, 1), texts(r.Boards, 6, 2), ints(r.Boards, 6, 3),
			times(r.Boards, 6, 4))
		q.Queue("moves", ints(r.Runs, 5, 0), ints(r.Runs, 5, 1), ints(r.Runs, 5, 2), times(r.Runs, 5, 3),
			texts(r.Runs, 5, 4))
		q.Queue("sessions", ints(r.Sessions, 2, 0), ints(r.Sessions, 2, 1))
		q.Queue("held", ints(r.Held, 5, 0), ints(r.Held, 5, 1), bools(r.Held, 5, 2), times(r.Held, 5, 3),
			times(r.Held, 5, 4))
		q.Queue("freed", ints(r.Freed, 1, 0))
		q.Queue("cursor", r.Cursor...)
		q.Queue("COMMIT")
		return conn.SendBatch(b.Context(), q).Close()
	}
}

// column takes every width-th value.
func column[T any](flat []any, width, i int, as func(any) T) []T {
	all := make([]T, 0, len(flat)/width)
	for ; i < len(flat); i += width {
		all = append(all, as(flat[i]))
	}
	return all
}

func ints(flat []any, width, i int) []int64 {
	return column(flat, width, i, func(v any) int64 {
		if n, ok := v.(int); ok {
			return int64(n)
		}
		return v.(int64)
	})
}

func texts(flat []any, width, i int) []string {
	return column(flat, width, i, func(v any) string { return v.(string) })
}

func bools(flat []any, width, i int) []bool {
	return column(flat, width, i, func(v any) bool { return v.(bool) })
}

func times(flat []any, width, i int) []*time.Time {
	return column(flat, width, i, func(v any) *time.Time {
		if v == nil {
			return nil
		}
		t := time.UnixMicro(v.(int64))
		return &t
	})
}

// BenchmarkGrowth measures the cost of a move for this process and the server while the
// tables grow.
func BenchmarkGrowth(b *testing.B) {
	cluster := pgtest.Start(b, true)
	var postmaster int
	storetest.Growth(b, func(b *testing.B) store.Store {
		o := cluster.Migrated(b)
		postmaster = pgtest.Query[int](b, o, `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int`)
		return open(b, o)
	}, func() time.Duration { return cpuTime(postmaster) })
}

// cpuTime returns the processor time of this process and of a server's children, as far as
// the system counts it (Linux does).
func cpuTime(postmaster int) (used time.Duration) {
	own := os.Getpid()
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // state, parent, …, 11: user time, 12: system time, in 1/100 s
		if len(fields) < 13 || fields[1] != strconv.Itoa(postmaster) && name != fmt.Sprintf("/proc/%d/stat", own) {
			continue
		}
		for _, ticks := range fields[11:13] {
			n, _ := strconv.Atoi(ticks)
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}
