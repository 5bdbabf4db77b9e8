package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// maxRun is how many moves a run may have: a row of that size fits a page of either database.
const maxRun = 32

// MoveRun is consecutive moves of a board that are stored as one row: a row costs far more than
// its content, and under load a transaction has many moves of each board. The view moves shows
// them one by one.
type MoveRun struct {
	Board wamble.BoardID
	First int       // ply of the first move
	Count int       // number of moves
	Ended time.Time // time of the latest move
	Moves string    // JSON: [[session, move, microseconds before Ended], …]
}

// MoveRuns combines moves into runs. It returns false if they are not in the order of boards
// and plies without repetitions: then each move must be a run by itself.
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
		if len(moves) > 0 && (moves[0].Board < run.Board || moves[0].Board == run.Board &&
			moves[0].Ply < run.First+run.Count) {
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
	text[0] = '[' // replaces the comma
	return append(text, ']')
}

// appendText appends a text as JSON.
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

// scanRun reads a run: its board, and its moves with their plies, but without handles and
// ratings. Errors: *BadData.
func scanRun(scan Scan) (board wamble.BoardID, moves []wamble.Move, err error) {
	var first int
	var ended time.Time
	var text []byte
	if err := scan(&board, &first, at(&ended), &text); err != nil {
		return 0, nil, err
	}
	moves, ok := readMoves(text, ended)
	if !ok {
		if moves, err = decodeMoves(text, ended); err != nil {
			return 0, nil, Badf("the moves of board %d from ply %d: %v", board, first, err)
		}
	}
	for i := range moves {
		moves[i].Ply = first + i
	}
	return board, moves, nil
}

// readMoves reads moves as appendMoves writes them, without escapes. If it returns false,
// decodeMoves must read them.
func readMoves(text []byte, ended time.Time) (moves []wamble.Move, ok bool) {
	moves = make([]wamble.Move, 0, 1+len(text)/20)
	for text = bytes.TrimPrefix(text, []byte("[")); len(text) > 0 && text[0] == '['; text = text[1:] {
		row, rest, _ := bytes.Cut(text[1:], []byte("]"))
		session, row, _ := bytes.Cut(row, []byte(`,"`))
		uci, before, _ := bytes.Cut(row, []byte(`",`))
		who, err1 := strconv.ParseInt(string(session), 10, 64)
		micros, err2 := strconv.ParseInt(string(before), 10, 64)
		if err1 != nil || err2 != nil || bytes.IndexByte(uci, '\\') >= 0 || len(rest) == 0 {
			return nil, false
		}
		moves = append(moves, wamble.Move{Session: wamble.SessionID(who), UCI: string(uci),
			At: ended.Add(-time.Duration(micros) * time.Microsecond)})
		if text = rest; string(text) == "]" {
			return moves, true
		}
		if text[0] != ',' {
			return nil, false
		}
	}
	return nil, false
}

func decodeMoves(text []byte, ended time.Time) (moves []wamble.Move, err error) {
	var rows [][]any
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	for _, row := range rows {
		if len(row) != 3 {
			return nil, errRun
		}
		who, ok1 := row[0].(float64)
		uci, ok2 := row[1].(string)
		micros, ok3 := row[2].(float64)
		if !ok1 || !ok2 || !ok3 {
			return nil, errRun
		}
		moves = append(moves, wamble.Move{Session: wamble.SessionID(who), UCI: uci,
			At: ended.Add(-time.Duration(micros) * time.Microsecond)})
	}
	return moves, nil
}

var errRun = errors.New("not a list of [session, move, microseconds]")
