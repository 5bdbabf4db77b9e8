package schema

import (
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

// SelectTrails reads the trail of a session, and those of the newest sessions of its
// player, for ScanTrail.
const SelectTrails = `SELECT s.id, s.last_seen_at, s.trail FROM sessions s WHERE s.id = $1
	UNION SELECT * FROM (SELECT o.id, o.last_seen_at, o.trail FROM sessions o WHERE o.player_id = (SELECT player_id FROM sessions WHERE id = $1)
		ORDER BY o.last_seen_at DESC, o.id DESC LIMIT $2) t ORDER BY last_seen_at DESC, id DESC`

// TrailArgs returns the arguments of SelectTrails.
func TrailArgs(id wamble.SessionID) []any { return []any{int64(id), trailSessions} }

// SessionTrail is the stored trail of a session.
type SessionTrail struct {
	Session wamble.SessionID
	Seen    time.Time
	Boards  []byte
}

// ScanTrail reads a row of SelectTrails.
func ScanTrail(scan Scan) (t SessionTrail, err error) {
	err = scan(&t.Session, at(&t.Seen), &t.Boards)
	return t, err
}

// MergeTrails returns the beginning of the trail of a session: the sessions of its player, and
// when another one of them was last seen; and the newest boards of all sessions, taken in turn.
func MergeTrails(id wamble.SessionID, rows []SessionTrail) (out wamble.Trail, boards []int64) {
	for _, t := range rows {
		out.Sessions = append(out.Sessions, t.Session)
		if t.Session != id && t.Seen.After(out.Seen) {
			out.Seen = t.Seen
		}
	}
	for back := 8; back <= TrailBytes; back += 8 {
		for _, t := range rows {
			if back > len(t.Boards) || len(boards) == TrailBoards {
				continue
			}
			board := int64(binary.BigEndian.Uint64(t.Boards[len(t.Boards)-back:]))
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

// ScanPoints reads the points that a board has paid.
func ScanPoints(scan Scan) (s wamble.Score, err error) {
	err = scan(&s.Board, &s.Points)
	return s, err
}
