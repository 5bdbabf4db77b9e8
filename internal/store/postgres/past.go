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
	selectOldest = `SELECT id, created_at FROM boards WHERE profile = $1 ORDER BY created_at, id LIMIT 1`
	selectMade   = `SELECT id, created_at FROM boards WHERE profile = $1 AND id = $2`
	// selectPast limits the number of examined boards before it filters them.
	selectPast = `SELECT w.id FROM (SELECT id, status, created_at FROM boards WHERE profile = $1 AND (created_at, id) <= ($2::timestamptz, $3::bigint)
			ORDER BY created_at DESC, id DESC LIMIT $4) w
		LEFT JOIN game_results g ON g.board_id = w.id WHERE w.status <> 'ARCHIVED' OR g.finished_at > $5 ORDER BY w.created_at DESC, w.id DESC LIMIT $6`
	selectWalked = `SELECT id FROM boards WHERE profile = $1 AND (created_at, id) <= ($2::timestamptz, $3::bigint) ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $4`
)

// Past implements store.Queries.
func (s *Store) Past(ctx context.Context, q wamble.PastQuery) (past wamble.Past, err error) {
	if err := schema.CheckPast(q); err != nil {
		return past, err
	}
	var board schema.Made
	if q.Board != 0 {
		board, err = readOne(ctx, s, "read when a board was made", selectMade, []any{q.Profile, int64(q.Board)},
			schema.ScanMade)
		if errors.Is(err, store.ErrNotFound) {
			return past, nil
		}
		if err != nil {
			return past, err
		}
	}
	top := schema.PastFrom(q, board)
	ids, err := readAll(ctx, s, "read the past", selectPast,
		[]any{q.Profile, top.Created, int64(top.Board), schema.PastWalk, q.From, q.Limit + 1}, schema.ScanNumber)
	if err != nil {
		return past, err
	}
	if len(ids) > q.Limit {
		past.Next = wamble.BoardID(ids[q.Limit])
		ids = ids[:q.Limit]
	} else {
		next, err := readAll(ctx, s, "read the past", selectWalked,
			[]any{q.Profile, top.Created, int64(top.Board), schema.PastWalk}, schema.ScanNumber)
		if err != nil {
			return past, err
		}
		if len(next) > 0 {
			past.Next = wamble.BoardID(next[0])
		}
	}
	if len(ids) > 0 {
		past.Boards, err = s.boards(ctx, `WHERE b.id = ANY($1::bigint[]) ORDER BY b.created_at DESC, b.id DESC`, ids)
	}
	return past, err
}

// Began implements store.Queries.
func (s *Store) Began(ctx context.Context, profile string) (time.Time, error) {
	first, err := readOne(ctx, s, "read the first board", selectOldest, []any{profile}, schema.ScanMade)
	return first.Created, err
}
