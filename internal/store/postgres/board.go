package postgres

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble"
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

const selectBoard = `SELECT b.id, b.profile, b.fen, b.status, coalesce(b.variant, -1), b.version, b.created_at, b.last_assignment_time,
	r.session_id, r.reserved_for_white, r.started_at, r.expires_at, p.public_key,
	g.winning_side, g.move_count, g.duration_us, g.termination_reason, g.finished_at
	FROM boards b LEFT JOIN reservations r ON r.board_id = b.id LEFT JOIN sessions s ON s.id = r.session_id LEFT JOIN players p ON p.id = s.player_id
	LEFT JOIN game_results g ON g.board_id = b.id `

// live selects the boards of a shard by the index on status.
const live = `b.profile = $1 AND b.shard = $2 AND b.status IN ('ACTIVE', 'RESERVED', 'DORMANT')`

// LiveBoards implements store.Queries.
func (s *Store) LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error] {
	list := func() ([]int64, error) {
		return readAll(ctx, s, "read boards", `SELECT b.id FROM boards b WHERE `+live+` ORDER BY b.created_at, b.id`,
			[]any{profile, shard}, schema.ScanNumber)
	}
	return schema.Listed(list, func(ids []int64) ([]wamble.Board, error) {
		return s.boardPage(ctx, byIndex, selectRunsOf,
			`WHERE b.id = ANY($1::bigint[]) AND b.status <> 'ARCHIVED' ORDER BY b.created_at, b.id`, ids)
	})
}

// Board implements store.Queries.
func (s *Store) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	boards, err := s.boards(ctx, `WHERE b.id = $1`, int64(id))
	if err == nil && len(boards) == 0 {
		err = classify(ctx, "read board", store.ErrNotFound)
	}
	if err != nil {
		return wamble.Board{}, err
	}
	return boards[0], nil
}

// Games implements store.Queries.
func (s *Store) Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error] {
	var since *time.Time
	if !f.Since.IsZero() {
		since = &f.Since
	}
	return schema.Pages(func(last *wamble.Board) ([]wamble.Board, error) {
		after := f.After
		if last != nil {
			after = last.ID
		}
		return s.boards(ctx, `WHERE b.id > $1 AND ($2::text = '' OR b.profile = $2::text) AND (NOT $3::bool OR b.status = 'ARCHIVED')
			AND ($4::timestamptz IS NULL OR g.finished_at >= $4::timestamptz OR EXISTS (SELECT FROM move_runs r WHERE r.board_id = b.id AND r.ended_at >= $4::timestamptz))
			ORDER BY b.id LIMIT $5`, int64(after), f.Profile, f.Finished, since, schema.PageSize)
	})
}

// byIndex keeps the server from scanning whole tables for each page of a start: with 100,000
// boards that took a quarter of the start.
const byIndex = "SET LOCAL enable_seqscan = off"

func (s *Store) boards(ctx context.Context, where string, args ...any) ([]wamble.Board, error) {
	return s.boardPage(ctx, "", fmt.Sprintf(selectRuns, where), where, args...)
}

// boardPage reads boards and their moves in one snapshot, after setting unless that is empty,
// and then the players of the moves. Runs may include moves of further boards.
func (s *Store) boardPage(ctx context.Context, setting, runs, where string, args ...any) ([]wamble.Board, error) {
	var page schema.BoardPage
	err := s.read(ctx, "read boards", func(batch *pgx.Batch) {
		if setting != "" {
			batch.Queue(setting)
		}
		batch.Queue(selectBoard+where,
			args...).Query(each(func(rows pgx.Rows) error { return page.ScanBoard(rows.Scan) }))
		batch.Queue(runs, args...).Query(each(func(rows pgx.Rows) error { return page.ScanRun(rows.Scan) }))
	})
	if by := page.Sessions(); err == nil && len(by) > 0 {
		err = s.read(ctx, "read boards", func(batch *pgx.Batch) {
			batch.Queue(selectMovers, by).Query(each(func(rows pgx.Rows) error { return page.ScanMover(rows.Scan) }))
		})
		page.NameMovers()
	}
	if err != nil {
		return nil, err
	}
	return page.Boards, nil
}
