package record

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"wamble"
)

// Trail is the JSON of a player's recent moves and their consequences.
type Trail struct {
	// Seen is when the player was last here with another session; nil: never.
	Seen   *time.Time   `json:"seen,omitempty"`
	Boards []TrailBoard `json:"boards"` // the one with the player's latest move first
}

// TrailBoard is the JSON of a board that the player has moved on.
type TrailBoard struct {
	Board  wamble.BoardID `json:"board"`
	FEN    string         `json:"fen,omitempty"` // the present position
	Plies  int            `json:"plies"`
	Moves  []OwnMove      `json:"moves"` // the player's last ones
	Result *Result        `json:"result,omitempty"`
	Points float64        `json:"points,omitempty"` // paid to the player
}

// OwnMove is the JSON of a move of the player, and of the answer to it.
type OwnMove struct {
	Ply      int        `json:"ply"`
	UCI      string     `json:"uci"`
	SAN      string     `json:"san"`
	At       time.Time  `json:"at"`
	Reply    string     `json:"reply,omitempty"` // in SAN
	Answered *time.Time `json:"answered,omitempty"`
}

// maxOwnMoves bounds the moves of a player that are shown per board.
const maxOwnMoves = 16

// AppendTrail appends a trail as one line of JSON: the boards of one profile, with their positions if the
// reader may see boards.
func AppendTrail(dst []byte, t *wamble.Trail, profile string, looks bool) ([]byte, error) {
	out := Trail{Boards: []TrailBoard{}}
	if !t.Seen.IsZero() {
		seen := t.Seen.UTC()
		out.Seen = &seen
	}
	for i := range t.Boards {
		b := &t.Boards[i]
		if b.Profile != profile {
			continue
		}
		one, ok := trailBoard(b, t.Sessions)
		if !ok || len(one.Moves) == 0 {
			continue
		}
		if looks {
			one.FEN = b.FEN
		}
		for _, paid := range t.Paid {
			if paid.Board == b.ID {
				one.Points = paid.Points
			}
		}
		out.Boards = append(out.Boards, one)
	}
	slices.SortFunc(out.Boards, func(a, b TrailBoard) int {
		return cmp.Or(b.Moves[len(b.Moves)-1].At.Compare(a.Moves[len(a.Moves)-1].At), cmp.Compare(b.Board, a.Board))
	})
	line, err := json.Marshal(out)
	if err != nil {
		return dst, err
	}
	return append(append(dst, line...), '\n'), nil
}

// trailBoard finds the moves of sessions on a board. It reports false if the stored moves cannot be
// replayed.
func trailBoard(b *wamble.Board, own []wamble.SessionID) (out TrailBoard, ok bool) {
	out.Board, out.Plies, out.Result = b.ID, len(b.Moves), resultOf(b)
	p, err := startOf(b)
	if err != nil {
		return out, false
	}
	for i := range b.Moves {
		m := &b.Moves[i]
		move, err := p.ParseUCI(m.UCI)
		if err != nil {
			return out, false
		}
		last := len(out.Moves) - 1
		answers := last >= 0 && out.Moves[last].Ply == m.Ply-1
		owned := slices.Contains(own, m.Session)
		if answers || owned {
			san, when := p.SAN(move), m.At.UTC()
			if answers {
				out.Moves[last].Reply, out.Moves[last].Answered = san, &when
			}
			if owned {
				out.Moves = append(out.Moves, OwnMove{Ply: m.Ply, UCI: m.UCI, SAN: san, At: when})
			}
		}
		p = p.Play(move)
	}
	out.Moves = out.Moves[max(0, len(out.Moves)-maxOwnMoves):]
	return out, true
}
