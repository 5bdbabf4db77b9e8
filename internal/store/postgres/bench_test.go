package postgres_test

import (
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
	"moves":    `INSERT INTO moves (board_id, session_id, move_uci, move_number, timestamp) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::timestamptz[])`,
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
		q.Queue("boards", ints(r.Boards, 6, 0), texts(r.Boards, 6, 1), texts(r.Boards, 6, 2), ints(r.Boards, 6, 3), times(r.Boards, 6, 4))
		q.Queue("moves", ints(r.Moves, 5, 0), ints(r.Moves, 5, 1), texts(r.Moves, 5, 2), ints(r.Moves, 5, 3), times(r.Moves, 5, 4))
		q.Queue("sessions", ints(r.Sessions, 2, 0), ints(r.Sessions, 2, 1))
		q.Queue("held", ints(r.Held, 5, 0), ints(r.Held, 5, 1), bools(r.Held, 5, 2), times(r.Held, 5, 3), times(r.Held, 5, 4))
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
