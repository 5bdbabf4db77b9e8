package postgres

import (
	"context"
	"errors"
	"time"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

const (
	selectOldest = `SELECT id, created_at FROM boards WHERE profile = $1 ORDER BY id LIMIT 1`
	selectNewest = `SELECT id, created_at FROM boards WHERE profile = $1 ORDER BY id DESC LIMIT 1`
	selectFrom   = `SELECT id, created_at FROM boards WHERE profile = $1 AND id >= $2 ORDER BY id LIMIT 1`
	// The walk is bounded before its boards are looked at.
	selectPast = `SELECT w.id FROM (SELECT id, status FROM boards WHERE profile = $1 AND id <= $2 ORDER BY id DESC LIMIT $3) w
		LEFT JOIN game_results g ON g.board_id = w.id WHERE w.status <> 'ARCHIVED' OR g.finished_at > $4 ORDER BY w.id DESC LIMIT $5`
	selectWalked = `SELECT id FROM boards WHERE profile = $1 AND id <= $2 ORDER BY id DESC LIMIT 1 OFFSET $3`
)

// Past implements store.Queries.
func (s *Store) Past(ctx context.Context, q wamble.PastQuery) (past wamble.Past, err error) {
	if err := schema.CheckPast(q); err != nil {
		return past, err
	}
	top := q.Board
	if top == 0 {
		if top, err = s.madeBy(ctx, q); err != nil || top == 0 {
			return past, err
		}
	}
	ids, err := readAll(ctx, s, "read the past", selectPast, []any{q.Profile, int64(top), schema.PastWalk, q.From, q.Limit}, schema.ScanNumber)
	if err != nil {
		return past, err
	}
	if len(ids) == q.Limit {
		past.Next = wamble.BoardID(ids[len(ids)-1] - 1)
	} else {
		next, err := readAll(ctx, s, "read the past", selectWalked, []any{q.Profile, int64(top), schema.PastWalk}, schema.ScanNumber)
		if err != nil {
			return past, err
		}
		if len(next) > 0 {
			past.Next = wamble.BoardID(next[0])
		}
	}
	if len(ids) > 0 {
		past.Boards, err = s.boards(ctx, `WHERE b.id = ANY($1::bigint[]) ORDER BY b.id DESC`, ids)
	}
	return past, err
}

// madeBy is the newest board that a page of the past may have.
func (s *Store) madeBy(ctx context.Context, q wamble.PastQuery) (wamble.BoardID, error) {
	made := func(text string, args ...any) (schema.Made, error) {
		return readOne(ctx, s, "read when a board was made", text, args, schema.ScanMade)
	}
	oldest, err := made(selectOldest, q.Profile)
	if errors.Is(err, store.ErrNotFound) {
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
	first, err := readOne(ctx, s, "read the first board", selectOldest, []any{profile}, schema.ScanMade)
	return first.Created, err
}
