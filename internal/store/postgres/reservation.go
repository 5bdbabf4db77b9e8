package postgres

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

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
