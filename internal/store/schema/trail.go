package schema

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// The bounds of a trail.
const (
	TrailBoards   = 64              // boards in the trail of a session, and in an answer
	TrailBytes    = 8 * TrailBoards // bytes of the trail in a session's row
	trailSessions = 8               // sessions of a player whose trails are read
)

// FirstMoves returns the moves that are a session's first ones on their boards, in the order of
// time.
func FirstMoves(moves []*intent.RecordMove) (first []*intent.RecordMove) {
	for _, in := range moves {
		if in.First {
			first = append(first, in)
		}
	}
	slices.SortStableFunc(first, func(a, b *intent.RecordMove) int { return a.At.Compare(b.At) })
	return first
}

// Trail implements store.Queries.
func (q *Queries) Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error) {
	rows, err := readAll(ctx, q, "read trail", Ask{Text: selectTrails, Args: []any{int64(id), trailSessions}}, scanTrail)
	if err != nil {
		return wamble.Trail{}, err
	}
	out, ids := mergeTrails(id, rows)
	if len(ids) == 0 {
		return out, nil
	}
	boards, sessions := listOf(q.Dialect, ids), listOf(q.Dialect, out.Sessions)
	if out.Boards, err = q.boards(ctx, `WHERE `+q.Dialect.in("b.id", "$1"), boards); err != nil {
		return wamble.Trail{}, err
	}
	out.Paid, err = readAll(ctx, q, "read payouts", Ask{Text: `SELECT board_id, CAST(round(sum(points_awarded), 4) AS float8) FROM payouts
		WHERE ` + q.Dialect.in("board_id", "$1") + ` AND ` + q.Dialect.in("session_id", "$2") + ` GROUP BY board_id`,
		Args: []any{boards, sessions}}, scanPoints)
	if err != nil {
		return wamble.Trail{}, err
	}
	return out, nil
}

// selectTrails reads the trail of a session, and those of the newest sessions of its player.
const selectTrails = `SELECT s.id, s.last_seen_at, s.trail FROM sessions s WHERE s.id = $1
	UNION SELECT * FROM (SELECT o.id, o.last_seen_at, o.trail FROM sessions o WHERE o.player_id = (SELECT player_id FROM sessions WHERE id = $1)
		ORDER BY o.last_seen_at DESC, o.id DESC LIMIT $2) t ORDER BY last_seen_at DESC, id DESC`

// sessionTrail is the stored trail of a session.
type sessionTrail struct {
	session wamble.SessionID
	seen    time.Time
	boards  []byte
}

func scanTrail(scan Scan) (t sessionTrail, err error) {
	err = scan(&t.session, at(&t.seen), &t.boards)
	return t, err
}

// mergeTrails returns the beginning of the trail of a session: the sessions of its player, and
// when another one of them was last seen; and the newest boards of all sessions, taken in turn.
func mergeTrails(id wamble.SessionID, rows []sessionTrail) (out wamble.Trail, boards []int64) {
	for _, t := range rows {
		out.Sessions = append(out.Sessions, t.session)
		if t.session != id && t.seen.After(out.Seen) {
			out.Seen = t.seen
		}
	}
	for back := 8; back <= TrailBytes; back += 8 {
		for _, t := range rows {
			if back > len(t.boards) || len(boards) == TrailBoards {
				continue
			}
			board := int64(binary.BigEndian.Uint64(t.boards[len(t.boards)-back:]))
			if !slices.Contains(boards, board) {
				boards = append(boards, board)
			}
		}
	}
	return out, boards
}

// AppendTrail appends a board to a trail.
func AppendTrail(trail []byte, board wamble.BoardID) []byte {
	return binary.BigEndian.AppendUint64(trail, uint64(board))
}

// scanPoints reads the points that a board has paid.
func scanPoints(scan Scan) (s wamble.Score, err error) {
	err = scan(&s.Board, &s.Points)
	return s, err
}
