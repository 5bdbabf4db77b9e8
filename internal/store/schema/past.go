package schema

import (
	"context"
	"errors"
	"math"
	"time"

	"wamble"
	"wamble/internal/store"
)

// pastWalk is how many boards a page of the past examines.
const pastWalk = 1 << 14

const (
	selectOldest = `SELECT id, created_at FROM boards WHERE profile = $1 ORDER BY created_at, id LIMIT 1`
	selectMade   = `SELECT id, created_at FROM boards WHERE profile = $1 AND id = $2`
	// selectPast limits the number of examined boards before it filters them.
	selectPast = `SELECT w.id FROM (SELECT id, status, created_at FROM boards WHERE profile = $1 AND (created_at, id) <= ($2, $3)
			ORDER BY created_at DESC, id DESC LIMIT $4) w
		LEFT JOIN game_results g ON g.board_id = w.id WHERE w.status <> 'ARCHIVED' OR g.finished_at > $5 ORDER BY w.created_at DESC, w.id DESC LIMIT $6`
	selectWalked = `SELECT id FROM boards WHERE profile = $1 AND (created_at, id) <= ($2, $3) ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $4`
)

// made is the number of a board and the time when it was made.
type made struct {
	board   wamble.BoardID
	created time.Time
}

func scanMade(scan Scan) (m made, err error) {
	err = scan(&m.board, at(&m.created))
	return m, err
}

// pastFrom returns where a page of the past begins: at the board of the query, but not at one
// made after its time.
func pastFrom(of wamble.PastQuery, board made) made {
	if of.Board == 0 || board.created.After(of.Until) {
		return made{math.MaxInt64, of.Until}
	}
	return board
}

// Past implements store.Queries.
func (q *Queries) Past(ctx context.Context, of wamble.PastQuery) (past wamble.Past, err error) {
	if of.Limit < 1 || of.Limit > maxPast {
		return past, Badf("a page of the past has 1 to %d boards, not %d", maxPast, of.Limit)
	}
	var board made
	if of.Board != 0 {
		board, err = readOne(ctx, q, "read when a board was made", Ask{Text: selectMade,
			Args: []any{of.Profile, int64(of.Board)}}, scanMade)
		if errors.Is(err, store.ErrNotFound) {
			return past, nil
		}
		if err != nil {
			return past, err
		}
	}
	top := pastFrom(of, board)
	walk := []any{of.Profile, q.Dialect.time(top.created), int64(top.board), pastWalk}
	ids, err := readAll(ctx, q, "read the past", Ask{Text: selectPast,
		Args: append(walk[:4:4], q.Dialect.time(of.From), of.Limit+1)}, scanValue[wamble.BoardID])
	if err != nil {
		return past, err
	}
	if len(ids) > of.Limit {
		past.Next = ids[of.Limit]
		ids = ids[:of.Limit]
	} else {
		next, err := readAll(ctx, q, "read the past", Ask{Text: selectWalked, Args: walk}, scanValue[wamble.BoardID])
		if err != nil {
			return past, err
		}
		if len(next) > 0 {
			past.Next = next[0]
		}
	}
	if len(ids) > 0 {
		past.Boards, err = q.boards(ctx, `WHERE `+q.Dialect.in("b.id", "$1")+` ORDER BY b.created_at DESC, b.id DESC`,
			listOf(q.Dialect, ids))
	}
	return past, err
}

// Began implements store.Queries.
func (q *Queries) Began(ctx context.Context, profile string) (time.Time, error) {
	first, err := readOne(ctx, q, "read the first board", Ask{Text: selectOldest, Args: []any{profile}}, scanMade)
	return first.created, err
}
