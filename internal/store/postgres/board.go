package postgres

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

const theseBoards = `unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::timestamptz[]) AS v(id, fen, status, variant, at)`

func createBoards(name string, run []intent.Intent) []statement {
	profile, shard := store.SplitName(name)
	n := len(run)
	ids, fens, states, variants, at := make([]int64, n), make([]string, n), make([]string, n), make([]int32, n),
		make([]time.Time, n)
	for i, in := range schema.As[*intent.CreateBoard](run) {
		ids[i], fens[i], states[i], variants[i], at[i] = int64(in.Board), in.FEN, in.Status.String(), int32(in.Variant),
			in.At
	}
	return []statement{{rows: n, args: []any{ids, fens, states, variants, at, profile, shard}, compare: []any{ids, fens, states, variants, at, profile}, sql: `
		INSERT INTO boards (id, fen, status, profile, variant, created_at, updated_at, shard)
		SELECT id, fen, status, $6::text, NULLIF(variant, -1), at, at, $7::int FROM ` + theseBoards + ` ON CONFLICT (id) DO NOTHING`,
		verify: `SELECT format('CREATE_BOARD: board %s belongs to another profile', v.id)
		FROM ` + theseBoards + ` JOIN boards b ON b.id = v.id AND b.profile <> $6::text LIMIT 1`}}
}

const theseChanges = `unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[]) AS v(id, fen, status, version, assigned)`

// changeBoards writes positions that are newer than the stored ones, and times of assignment.
func changeBoards(_ string, run []intent.Intent) []statement {
	changes := schema.BoardChanges(run)
	n := len(changes)
	ids, fens, states, versions, assigned := make([]int64, n), make([]string, n), make([]string, n), make([]int64, n),
		make([]*time.Time, n)
	for i, c := range changes {
		ids[i], fens[i], states[i], versions[i] = int64(c.Board), c.FEN, c.Status.String(), c.Version
		if !c.Assigned.IsZero() {
			assigned[i] = &changes[i].Assigned
		}
	}
	return []statement{{rows: n, args: []any{ids, fens, states, versions, assigned}, sql: `
		UPDATE boards b SET fen = CASE WHEN b.version < v.version THEN v.fen ELSE b.fen END, status = CASE WHEN b.version < v.version THEN v.status ELSE b.status END,
			version = greatest(b.version, v.version), last_assignment_time = greatest(b.last_assignment_time, v.assigned)
		FROM ` + theseChanges + ` WHERE b.id = v.id`,
		verify: `SELECT format('` + run[0].Kind().String() + `: there is no board %s', v.id)
		FROM ` + theseChanges + ` WHERE NOT EXISTS (SELECT FROM boards b WHERE b.id = v.id) LIMIT 1`}}
}

// createReservations keeps a newer reservation: a late copy never takes a board from a later
// holder.
func createReservations(_ string, run []intent.Intent) []statement {
	n := len(run)
	boards, sessions, whites := make([]int64, n), make([]int64, n), make([]bool, n)
	at, expires := make([]time.Time, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.CreateReservation](run) {
		boards[i], sessions[i], whites[i] = int64(in.Board), int64(in.Session), in.White
		at[i], expires[i] = in.At, in.Expires
	}
	return []statement{{rows: -1, args: []any{boards, sessions, whites, at, expires}, sql: `
		INSERT INTO reservations AS r (board_id, session_id, reserved_for_white, started_at, expires_at)
		SELECT DISTINCT ON (board) board, session, white, at, expires
		FROM unnest($1::bigint[], $2::bigint[], $3::bool[], $4::timestamptz[], $5::timestamptz[]) WITH ORDINALITY AS v(board, session, white, at, expires, n)
		WHERE ` + here("v.session") + `
		ORDER BY board, at DESC, n DESC
		ON CONFLICT (board_id) DO UPDATE SET session_id = EXCLUDED.session_id, reserved_for_white = EXCLUDED.reserved_for_white,
			started_at = EXCLUDED.started_at, expires_at = EXCLUDED.expires_at
		WHERE EXCLUDED.started_at >= r.started_at`}}
}

func removeReservations(_ string, run []intent.Intent) []statement {
	n := len(run)
	boards, at := make([]int64, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.RemoveReservation](run) {
		boards[i], at[i] = int64(in.Board), in.At
	}
	return []statement{{rows: -1, args: []any{boards, at}, sql: `
		DELETE FROM reservations r USING unnest($1::bigint[], $2::timestamptz[]) AS v(board, at) WHERE r.board_id = v.board AND r.started_at <= v.at`}}
}
