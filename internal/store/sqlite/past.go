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
	selectOldest = `SELECT id, created_at FROM boards WHERE profile = ? ORDER BY id LIMIT 1`
	selectNewest = `SELECT id, created_at FROM boards WHERE profile = ? ORDER BY id DESC LIMIT 1`
	selectFrom   = `SELECT id, created_at FROM boards WHERE profile = ? AND id >= ? ORDER BY id LIMIT 1`
	// The walk is bounded before its boards are looked at.
	selectPast = `SELECT w.id FROM (SELECT id, status FROM boards WHERE profile = ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3) w
		LEFT JOIN game_results g ON g.board_id = w.id WHERE w.status <> 'ARCHIVED' OR g.finished_at > ?4 ORDER BY w.id DESC LIMIT ?5`
	selectWalked = `SELECT id FROM boards WHERE profile = ? AND id <= ? ORDER BY id DESC LIMIT 1 OFFSET ?`
)

// Past implements store.Queries.
func (s *Store) Past(ctx context.Context, q wamble.PastQuery) (past wamble.Past, err error) {
	if err := schema.CheckPast(q); err != nil {
		return past, err
	}
	var ids []int64
	err = s.read(ctx, "read the past", func(ctx context.Context, tx *sql.Tx) error {
		top, err := q.Board, error(nil)
		if top == 0 {
			top, err = madeBy(ctx, tx, q)
		}
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, selectPast, q.Profile, int64(top), schema.PastWalk, schema.Micros(q.From), q.Limit)
		if ids, err = scanAll(rows, err, schema.ScanNumber); err != nil {
			return err
		}
		if len(ids) == q.Limit {
			past.Next = wamble.BoardID(ids[len(ids)-1] - 1)
			return nil
		}
		err = tx.QueryRowContext(ctx, selectWalked, q.Profile, int64(top), schema.PastWalk).Scan(&past.Next)
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
		past.Boards, err = s.boards(ctx, `WHERE b.id IN (SELECT value FROM json_each(?)) ORDER BY b.id DESC`, string(list))
	}
	return past, err
}

// madeBy is the newest board that a page of the past may have.
func madeBy(ctx context.Context, tx *sql.Tx, q wamble.PastQuery) (wamble.BoardID, error) {
	made := func(text string, args ...any) (schema.Made, error) {
		return schema.ScanMade(tx.QueryRowContext(ctx, text, args...).Scan)
	}
	oldest, err := made(selectOldest, q.Profile)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	newest, err := made(selectNewest, q.Profile)
	if err != nil {
		return 0, err
	}
	return schema.MadeBy(q.Until, oldest, newest, func(id wamble.BoardID) (schema.Made, error) {
		return made(selectFrom, q.Profile, int64(id))
	})
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
