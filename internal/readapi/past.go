package readapi

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"wamble"
	"wamble/internal/record"
)

// The bounds of one answer about the past: its time, and its boards.
const (
	pastSpan   = time.Minute
	pastBoards = 128
	// pastEnds is how long finished games are still included. The browser shows them as
	// long (endShown in wall/past.ts).
	pastEnds = 6 * time.Second
	// pastSettles is how long the database may lag.
	pastSettles = 5 * time.Second
)

// Past is the JSON of the boards at a time, with their moves in the minute after it.
type Past struct {
	At     time.Time   `json:"at"`
	Until  time.Time   `json:"until"` // end of the moves
	Boards []PastBoard `json:"boards"`
	Next   string      `json:"next,omitempty"` // board of the next page
}

// PastBoard is the JSON of a board at a time.
type PastBoard struct {
	Board wamble.BoardID `json:"board"`
	FEN   string         `json:"fen"`
	Ply   int            `json:"ply"`
	Last  string         `json:"last,omitempty"` // the last move
	From  int64          `json:"from,omitempty"` // ms after at when the board was made; 0 if before
	Moves []PastMove     `json:"moves,omitempty"`
	End   *PastEnd       `json:"end,omitempty"`
}

// PastMove is the JSON of a move. After is in ms after Past.At.
type PastMove struct {
	After int64  `json:"after"`
	UCI   string `json:"uci"`
}

// PastEnd is the JSON of the end of a game. After is in ms after Past.At; negative is before.
type PastEnd struct {
	After  int64  `json:"after"`
	Winner string `json:"winner"`
	Reason string `json:"reason"`
}

// Began is the JSON of the time of the first board.
type Began struct {
	Began time.Time `json:"began"`
	Now   time.Time `json:"now"`
}

// began answers with the time of the first board.
func (a *API) began(r reader) (*answer, error) {
	return a.ask(r, "began", func(ctx context.Context) (*answer, error) {
		at, err := a.o.Store.Began(ctx, a.o.Profile)
		if err != nil {
			return nil, err
		}
		return inJSON(Began{at.UTC(), a.o.Now().UTC().Truncate(time.Millisecond)}, runningGood)
	})
}

// past answers with one page of the boards at a time.
func (a *API) past(r reader) (*answer, error) {
	at, err := time.Parse(time.RFC3339, r.PathValue("time"))
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return nil, badf("a time is written as 2026-11-15T12:00:00Z")
	}
	at = at.UTC().Truncate(time.Second)
	from := uint64(0)
	if text := r.URL.Query().Get("from"); text != "" {
		if from, err = strconv.ParseUint(text, 10, 64); err != nil || from == 0 || from > math.MaxInt64 {
			return nil, badf("from is the number of a board")
		}
	}
	return a.ask(r, fmt.Sprintf("past %d %d", at.Unix(), from), func(ctx context.Context) (*answer, error) {
		q := wamble.PastQuery{Profile: a.o.Profile, From: at.Add(-pastEnds), Until: at.Add(pastSpan),
			Board: wamble.BoardID(from), Limit: pastBoards}
		got, err := a.o.Store.Past(ctx, q)
		if err != nil {
			return nil, err
		}
		past := Past{At: at, Until: q.Until, Boards: []PastBoard{}}
		if got.Next > 0 {
			past.Next = strconv.FormatUint(uint64(got.Next), 10)
		}
		for i := range got.Boards {
			if b, err := pastOf(&got.Boards[i], at, q.Until); err == nil { // damaged boards are left out
				past.Boards = append(past.Boards, b)
			}
		}
		good := runningGood
		if a.o.Now().After(q.Until.Add(pastSettles)) {
			good = finishedGood
		}
		return inJSON(past, good)
	})
}

// pastOf returns a board at a time, with its moves up to another time.
func pastOf(b *wamble.Board, at, until time.Time) (PastBoard, error) {
	p, plies, err := record.At(b, at)
	if err != nil {
		return PastBoard{}, err
	}
	after := func(t time.Time) int64 { return t.Sub(at).Milliseconds() }
	past := PastBoard{Board: b.ID, FEN: p.FEN(), Ply: plies, From: max(0, after(b.Created))}
	if plies > 0 {
		past.Last = b.Moves[plies-1].UCI
	}
	for _, m := range b.Moves[plies:] {
		if m.At.After(until) {
			break
		}
		past.Moves = append(past.Moves, PastMove{after(m.At), m.UCI})
	}
	if r := b.Result; r != nil && !r.Finished.After(until) {
		past.End = &PastEnd{after(r.Finished), record.Winner(r.Result), r.Reason}
	}
	return past, nil
}
