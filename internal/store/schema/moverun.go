package schema

import (
	"encoding/json"
	"strconv"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// maxRun is how many moves a run may have: in either database its row stays small
// enough to lie within a page.
const maxRun = 32

// MoveRun is moves of a board, ply after ply, that are stored as one row: a row
// costs far more than what is in it, and under load a transaction brings many moves
// of each board. The view moves shows them one by one.
type MoveRun struct {
	Board wamble.BoardID
	First int       // ply of the first
	Count int       // of moves
	Ended time.Time // the latest of them
	Moves string    // JSON: [[session, move, microseconds before Ended], …]
}

// MoveRuns makes runs of moves. It fails if they are not in the order of their boards
// and plies, each once: then only a run of each move by itself is right.
func MoveRuns(moves []*intent.RecordMove) (runs []MoveRun, ok bool) {
	var text []byte
	for len(moves) > 0 {
		run := MoveRun{Board: moves[0].Board, First: moves[0].Ply}
		for _, in := range moves[:min(len(moves), maxRun)] {
			if in.Board != run.Board || in.Ply != run.First+run.Count {
				break
			}
			if run.Count++; in.At.After(run.Ended) {
				run.Ended = in.At
			}
		}
		text = appendMoves(text[:0], moves[:run.Count], Micros(run.Ended))
		run.Moves = string(text)
		runs, moves = append(runs, run), moves[run.Count:]
		if len(moves) > 0 && (moves[0].Board < run.Board || moves[0].Board == run.Board && moves[0].Ply < run.First+run.Count) {
			return nil, false
		}
	}
	return runs, true
}

func appendMoves(text []byte, moves []*intent.RecordMove, ended int64) []byte {
	for _, in := range moves {
		text = append(text, ",["...)
		text = strconv.AppendInt(text, int64(in.Session), 10)
		text = append(text, ',')
		text = appendText(text, in.UCI)
		text = append(text, ',')
		text = strconv.AppendInt(text, ended-Micros(in.At), 10)
		text = append(text, ']')
	}
	text[0] = '[' // instead of a comma
	return append(text, ']')
}

// appendText adds a text as JSON.
func appendText(dst []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < '0' || c > 'z' || c == '\\' {
			quoted, _ := json.Marshal(s) // never fails
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
