package schema

import (
	"context"
	"fmt"
	"time"

	"wamble"
	"wamble/internal/store"
)

// Ask is a query.
type Ask struct {
	Text string // with parameters $1, $2 …
	Args []any
	// Row is called for each row. It is nil for a statement without rows.
	Row func(Scan) error
	// Varies says that the text depends on what is asked, so that it must not be kept prepared.
	Varies bool
}

// Queries are the reads of both stores, but for TrustChanges.
type Queries struct {
	// Read runs queries in one snapshot that cannot write; what names them in errors.
	Read    func(ctx context.Context, what string, asks ...Ask) error
	Dialect Dialect
}

// Guard lets each later read first wait, and returns an error of wait. It is called before the first
// read.
func (q *Queries) Guard(wait func(context.Context) error) {
	read := q.Read
	q.Read = func(ctx context.Context, what string, asks ...Ask) error {
		if err := wait(ctx); err != nil {
			return err
		}
		return read(ctx, what, asks...)
	}
}

// readAll reads all rows of a query.
func readAll[T any](ctx context.Context, q *Queries, what string, ask Ask, scan func(Scan) (T, error)) (all []T,
	err error) {
	ask.Row = func(s Scan) error {
		row, err := scan(s)
		all = append(all, row)
		return err
	}
	if err := q.Read(ctx, what, ask); err != nil {
		return nil, err
	}
	return all, nil
}

// readOne reads the only row of a query. Errors: store.ErrNotFound.
func readOne[T any](ctx context.Context, q *Queries, what string, ask Ask, scan func(Scan) (T, error)) (one T,
	err error) {
	found := false
	ask.Row = func(s Scan) (err error) {
		one, err = scan(s)
		found = true
		return err
	}
	if err = q.Read(ctx, what, ask); err == nil && !found {
		err = fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	return one, err
}

// scanValue reads one column.
func scanValue[T any](scan Scan) (v T, err error) {
	err = scan(&v)
	return v, err
}

// Shards implements store.Queries.
func (q *Queries) Shards(ctx context.Context, profile string) (int, error) {
	return readOne(ctx, q, "read shards", Ask{Text: `SELECT coalesce((SELECT shards FROM worlds WHERE profile = $1), 1)`,
		Args: []any{profile}}, scanValue[int])
}

// TermsAccepted implements store.Queries.
func (q *Queries) TermsAccepted(ctx context.Context, id wamble.SessionID, profile string, hash [32]byte) (bool, error) {
	return readOne(ctx, q, "read terms", Ask{
		Text: `SELECT EXISTS (SELECT 1 FROM profile_terms_acceptances WHERE session_id = $1 AND profile_name = $2 AND tos_hash = $3)`,
		Args: []any{int64(id), profile, hash[:]}}, scanValue[bool])
}

// Reservations implements store.Queries.
func (q *Queries) Reservations(ctx context.Context, key wamble.PublicKey, now time.Time) ([]wamble.Reservation, error) {
	all, err := readAll(ctx, q, "read reservations", Ask{Text: `SELECT r.board_id, b.profile, r.session_id, r.reserved_for_white, r.started_at, r.expires_at
		FROM players p JOIN sessions s ON s.player_id = p.id JOIN reservations r ON r.session_id = s.id JOIN boards b ON b.id = r.board_id
		WHERE p.public_key = $1 AND r.expires_at > $2 ORDER BY r.expires_at, r.board_id`, Args: []any{key[:], q.Dialect.time(now)}}, scanReservation)
	for i := range all {
		all[i].Key = key
	}
	return all, err
}

// Scores implements store.Queries.
func (q *Queries) Scores(ctx context.Context, of wamble.ScoreQuery) ([]wamble.Score, error) {
	if of.Limit < 1 || of.Limit > maxScores {
		return nil, Badf("a page of scores has 1 to %d rows, not %d", maxScores, of.Limit)
	}
	return readAll(ctx, q, "read scores", Ask{Text: `SELECT board, CAST(round(sum(points), 4) AS float8), CAST(round(sum(delta), 4) AS float8), max(at) FROM (
			SELECT y.board_id AS board, y.points_awarded AS points, 0 AS delta, y.created_at AS at
			FROM sessions s JOIN payouts y ON y.session_id = s.id WHERE s.player_id = $1
			UNION ALL SELECT board_id, 0, delta, created_at FROM rating_changes WHERE player_id = $1) h
		GROUP BY board HAVING CAST($2 AS timestamptz) IS NULL OR (max(at), board) < ($2, $3)
		ORDER BY max(at) DESC, board DESC LIMIT $4`,
		Args: []any{int64(of.Player), q.Dialect.timeOrNull(of.Before), int64(of.Board), of.Limit}}, scanScore)
}

// Predictions implements store.Queries.
func (q *Queries) Predictions(ctx context.Context, boards ...wamble.BoardID) ([]wamble.Prediction, error) {
	return readAll(ctx, q, "read predictions", Ask{Text: `WITH RECURSIVE
		up(id, parent) AS (
			SELECT id, parent_prediction_id FROM predictions WHERE ` + q.Dialect.in("board_id", "$1") + ` AND status = 'PENDING'
			UNION SELECT p.id, p.parent_prediction_id FROM up JOIN predictions p ON p.id = up.parent),
		down(id, depth) AS (
			SELECT id, 0 FROM up WHERE parent IS NULL
			UNION ALL SELECT up.id, down.depth + 1 FROM down JOIN up ON up.parent = down.id)
		SELECT p.id, p.board_id, p.session_id, coalesce(p.parent_prediction_id, 0), p.predicted_move_uci, p.move_number, d.depth,
			p.correct_streak, p.status, CAST(p.points_awarded AS float8), p.created_at
		FROM down d JOIN predictions p ON p.id = d.id JOIN sessions s ON s.id = p.session_id ORDER BY d.depth, p.id`,
		Args: []any{listOf(q.Dialect, boards)}}, scanPrediction)
}

// The bounds of a single call.
const (
	maxScores   = 100
	maxSessions = 1000
	maxRanks    = 16
	MaxLease    = 1_000_000
	maxPast     = 256
)

// CheckLease checks the arguments of store.Store.Lease.
func CheckLease(seq wamble.Sequence, n int) error {
	if n < 1 || n > MaxLease {
		return Badf("lease %d numbers: 1 to 1,000,000 can be leased", n)
	}
	if int(seq) >= len(wamble.Sequences()) {
		return Badf("lease: there is no %v", seq)
	}
	return nil
}
