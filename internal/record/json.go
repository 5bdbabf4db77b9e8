package record

import (
	"encoding/json"
	"time"

	"wamble"
)

// Game is the JSON of a game.
type Game struct {
	Board    wamble.BoardID `json:"board"`
	Profile  string         `json:"profile"`
	Status   string         `json:"status"`
	Chess960 *int           `json:"chess960,omitempty"` // start position
	Version  uint64         `json:"version"`            // grows with every change
	FEN      string         `json:"fen"`
	Created  time.Time      `json:"created"`
	Holder   *Holder        `json:"holder,omitempty"` // the player who is to move
	Moves    []Move         `json:"moves"`
	Result   *Result        `json:"result,omitempty"`
}

// Holder is the JSON of the holder of a board.
type Holder struct {
	Session wamble.SessionID `json:"session"`
	Handle  string           `json:"handle,omitempty"`
	Bot     bool             `json:"bot,omitempty"`
}

// Move is the JSON of a move.
type Move struct {
	Ply     int              `json:"ply"`
	UCI     string           `json:"uci"`
	Session wamble.SessionID `json:"session"`
	Handle  string           `json:"handle,omitempty"`
	Bot     bool             `json:"bot,omitempty"` // made by a program
	At      time.Time        `json:"at"`
}

// Result is the JSON of the end of a game.
type Result struct {
	Winner   string    `json:"winner"` // "white", "black" or "draw"
	Reason   string    `json:"reason"`
	Plies    int       `json:"plies"`
	Seconds  float64   `json:"seconds"`
	Finished time.Time `json:"finished"`
}

// AppendJSON appends a game as one line of JSON.
func AppendJSON(dst []byte, b *wamble.Board) ([]byte, error) {
	g := Game{
		Board: b.ID, Profile: b.Profile, Status: b.Status.String(), Version: b.Version, FEN: b.FEN,
		Created: b.Created.UTC(),
		Moves:   make([]Move, len(b.Moves)),
	}
	if b.Variant >= 0 {
		n := int(b.Variant)
		g.Chess960 = &n
	}
	for i, m := range b.Moves {
		g.Moves[i] = Move{m.Ply, m.UCI, m.Session, m.Handle, m.Bot, m.At.UTC()}
	}
	g.Holder, g.Result = holderOf(b), resultOf(b)
	line, err := json.Marshal(g)
	if err != nil {
		return dst, err
	}
	return append(append(dst, line...), '\n'), nil
}

// holderOf returns the holder of a board, nil if there is none or if it has an identity whose handle is
// unknown: such a player must not be shown as a guest.
func holderOf(b *wamble.Board) *Holder {
	h := b.Holder
	if h == nil || b.Status != wamble.Reserved || h.Handle == "" && h.Key != (wamble.PublicKey{}) {
		return nil
	}
	return &Holder{h.Session, h.Handle, h.Bot}
}

// resultOf returns the end of a game, nil if it goes on.
func resultOf(b *wamble.Board) *Result {
	if b.Result == nil {
		return nil
	}
	r := b.Result
	return &Result{winner[r.Result], r.Reason, r.Plies, r.Duration.Seconds(), r.Finished.UTC()}
}

// Winner returns the winner in JSON.
func Winner(r wamble.Result) string { return winner[r] }

var winner = map[wamble.Result]string{wamble.WhiteWins: "white", wamble.BlackWins: "black", wamble.Draw: "draw"}
