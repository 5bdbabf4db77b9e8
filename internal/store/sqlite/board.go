package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

func (t *tx) createBoards(run []intent.Intent) error {
	args := t.list(len(run), 8)
	boards := schema.As[*intent.CreateBoard](run)
	for _, in := range boards {
		var variant any
		if in.Variant >= 0 {
			variant = int64(in.Variant)
		}
		at := schema.Micros(in.At)
		args = append(args, int64(in.Board), in.FEN, in.Status.String(), t.profile, variant, at, at, t.shard)
	}
	n, err := t.many(`INSERT INTO boards (id, fen, status, profile, variant, created_at, updated_at, shard) VALUES $rows ON CONFLICT DO NOTHING`, "(?,?,?,?,?,?,?,?)", args)
	if err != nil {
		return err
	}
	before, err := t.short(n, len(boards))
	if err != nil || !before {
		return err
	}
	ok, err := t.exists(`SELECT 1 FROM boards WHERE id = ? AND profile = ?`, int64(boards[0].Board), t.profile)
	if err == nil && !ok {
		return schema.Badf("%v: board %d belongs to another profile", intent.KindCreateBoard, boards[0].Board)
	}
	return err
}

// changeBoards writes positions that are newer than the stored ones, and times of assignment.
func (t *tx) changeBoards(run []intent.Intent) error {
	changes := schema.BoardChanges(run)
	args := t.list(len(changes), 6)
	for _, c := range changes {
		assigned := int64(0)
		if !c.Assigned.IsZero() {
			assigned = schema.Micros(c.Assigned)
		}
		args = append(args, int64(c.Board), c.FEN, c.Status.String(), c.Version, assigned, schema.Micros(c.At))
	}
	n, err := t.many(`UPDATE boards SET fen = iif(version < v.column4, v.column2, fen), status = iif(version < v.column4, v.column3, status),
		version = max(version, v.column4), last_assignment_time = nullif(max(ifnull(last_assignment_time, 0), v.column5), 0), updated_at = max(updated_at, v.column6)
		FROM (VALUES $rows) v WHERE boards.id = v.column1`, "(?,?,?,?,?,?)", args)
	if err != nil {
		return err
	}
	gone, err := t.short(n, len(changes))
	if err == nil && gone {
		err = schema.Badf("%v: there is no board %d", run[0].Kind(), changes[0].Board)
	}
	return err
}

const selectBoard = `SELECT b.id, b.profile, b.fen, b.status, ifnull(b.variant, -1), b.version, b.created_at, b.last_assignment_time,
	r.session_id, r.reserved_for_white, r.started_at, r.expires_at, p.public_key,
	g.winning_side, g.move_count, g.duration_us, g.termination_reason, g.finished_at
	FROM boards b LEFT JOIN reservations r ON r.board_id = b.id LEFT JOIN sessions s ON s.id = r.session_id LEFT JOIN players p ON p.id = s.player_id
	LEFT JOIN game_results g ON g.board_id = b.id `

// live selects the boards of a shard by the index on status.
const live = `b.profile = ? AND b.shard = ? AND b.status IN ('ACTIVE', 'RESERVED', 'DORMANT')`

// LiveBoards implements store.Queries.
func (s *Store) LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error] {
	list := func() ([]int64, error) {
		return readAll(ctx, s, "read boards", `SELECT b.id FROM boards b WHERE `+live+` ORDER BY b.created_at, b.id`,
			[]any{profile, shard}, schema.ScanNumber)
	}
	return schema.Listed(list, func(ids []int64) ([]wamble.Board, error) {
		text, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		return s.boards(ctx, `WHERE b.id IN (SELECT value FROM json_each(?)) AND b.status <> 'ARCHIVED' ORDER BY b.created_at, b.id`, string(text))
	})
}

// Board implements store.Queries.
func (s *Store) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	boards, err := s.boards(ctx, `WHERE b.id = ?`, int64(id))
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
	var since any
	if !f.Since.IsZero() {
		since = schema.Micros(f.Since)
	}
	return schema.Pages(func(last *wamble.Board) ([]wamble.Board, error) {
		after := f.After
		if last != nil {
			after = last.ID
		}
		return s.boards(ctx, `WHERE b.id > ?1 AND (?2 = '' OR b.profile = ?2) AND (NOT ?3 OR b.status = 'ARCHIVED')
			AND (?4 IS NULL OR g.finished_at >= ?4 OR EXISTS (SELECT 1 FROM move_runs r WHERE r.board_id = b.id AND r.ended_at >= ?4))
			ORDER BY b.id LIMIT ?5`, int64(after), f.Profile, f.Finished, since, schema.PageSize)
	})
}

// boards reads boards with their moves in one snapshot.
func (s *Store) boards(ctx context.Context, where string, args ...any) ([]wamble.Board, error) {
	var page schema.BoardPage
	err := s.read(ctx, "read boards", func(ctx context.Context, tx *sql.Tx) error {
		if err := eachRow(ctx, tx, selectBoard+where, args, page.ScanBoard); err != nil {
			return err
		}
		return readMoves(ctx, tx, &page)
	})
	if err != nil {
		return nil, err
	}
	return page.Boards, nil
}
