package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

const (
	selectOldest = `SELECT id, created_at FROM boards WHERE profile = ? ORDER BY created_at, id LIMIT 1`
	selectMade   = `SELECT id, created_at FROM boards WHERE profile = ? AND id = ?`
	// selectPast limits the number of examined boards before it filters them.
	selectPast = `SELECT w.id FROM (SELECT id, status, created_at FROM boards WHERE profile = ?1 AND (created_at, id) <= (?2, ?3)
			ORDER BY created_at DESC, id DESC LIMIT ?4) w
		LEFT JOIN game_results g ON g.board_id = w.id WHERE w.status <> 'ARCHIVED' OR g.finished_at > ?5 ORDER BY w.created_at DESC, w.id DESC LIMIT ?6`
	selectWalked = `SELECT id FROM boards WHERE profile = ? AND (created_at, id) <= (?, ?) ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`
)

// Past implements store.Queries.
func (s *Store) Past(ctx context.Context, q wamble.PastQuery) (past wamble.Past, err error) {
	if err := schema.CheckPast(q); err != nil {
		return past, err
	}
	var ids []int64
	err = s.read(ctx, "read the past", func(ctx context.Context, tx *sql.Tx) error {
		var board schema.Made
		if q.Board != 0 {
			var err error
			board, err = schema.ScanMade(tx.QueryRowContext(ctx, selectMade, q.Profile, int64(q.Board)).Scan)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		top := schema.PastFrom(q, board)
		rows, err := tx.QueryContext(ctx, selectPast, q.Profile, schema.Micros(top.Created), int64(top.Board),
			schema.PastWalk, schema.Micros(q.From), q.Limit+1)
		if ids, err = scanAll(rows, err, schema.ScanNumber); err != nil {
			return err
		}
		if len(ids) > q.Limit {
			past.Next = wamble.BoardID(ids[q.Limit])
			ids = ids[:q.Limit]
			return nil
		}
		err = tx.QueryRowContext(ctx, selectWalked, q.Profile, schema.Micros(top.Created), int64(top.Board),
			schema.PastWalk).Scan(&past.Next)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	})
	if err != nil || len(ids) == 0 {
		return past, err
	}
	list, err := json.Marshal(ids)
	if err == nil {
		past.Boards, err = s.boards(ctx,
			`WHERE b.id IN (SELECT value FROM json_each(?)) ORDER BY b.created_at DESC, b.id DESC`, string(list))
	}
	return past, err
}

// Began implements store.Queries.
func (s *Store) Began(ctx context.Context, profile string) (time.Time, error) {
	first, err := readAll(ctx, s, "read the first board", selectOldest, []any{profile}, schema.ScanMade)
	if err == nil && len(first) == 0 {
		err = classify(ctx, "read the first board", store.ErrNotFound)
	}
	if err != nil {
		return time.Time{}, err
	}
	return first[0].Created, nil
}
