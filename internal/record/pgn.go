package record

import (
	"fmt"
	"strconv"
	"time"

	"wamble"
	"wamble/chess"
)

// AppendPGN appends a game in PGN. Each move has a comment "player, time". A player without an identity is
// "session 42".
func AppendPGN(dst []byte, b *wamble.Board) ([]byte, error) {
	g, err := game(b)
	if err != nil {
		return dst, err
	}
	return g.AppendPGN(dst)
}

func game(b *wamble.Board) (*chess.Game, error) {
	start, err := startOf(b)
	if err != nil {
		return nil, err
	}
	g := &chess.Game{Start: start}
	g.Tags = []chess.Tag{
		{Name: "Event", Value: "Wamble, " + b.Profile},
		{Name: "Date", Value: b.Created.UTC().Format("2006.01.02")},
		{Name: "Round", Value: strconv.FormatUint(uint64(b.ID), 10)},
		{Name: "White", Value: players(b.Moves, 1)},
		{Name: "Black", Value: players(b.Moves, 0)},
		{Name: "Board", Value: strconv.FormatUint(uint64(b.ID), 10)},
		{Name: "Status", Value: b.Status.String()},
	}
	p := g.Start
	for _, m := range b.Moves {
		move, err := p.ParseUCI(m.UCI)
		if err != nil {
			return nil, fmt.Errorf("board %d, ply %d: %q: %w", b.ID, m.Ply, m.UCI, err)
		}
		g.Plies = append(g.Plies, chess.Ply{Move: move, Comment: player(m) + ", " + m.At.UTC().Format(time.RFC3339)})
		p = p.Play(move)
	}
	if b.Result != nil {
		g.Result = pgnResult[b.Result.Result]
		g.Tags = append(g.Tags, chess.Tag{Name: "Termination", Value: b.Result.Reason})
	}
	return g, nil
}

// startOf returns the start position of a board.
func startOf(b *wamble.Board) (chess.Position, error) {
	if b.Variant < 0 {
		return chess.Start(), nil
	}
	p, err := chess.Chess960(int(b.Variant))
	if err != nil {
		return p, fmt.Errorf("board %d: %w", b.ID, err)
	}
	return p, nil
}

var pgnResult = map[wamble.Result]chess.Result{
	wamble.WhiteWins: chess.WhiteWins, wamble.BlackWins: chess.BlackWins, wamble.Draw: chess.Draw,
}

// players returns the name of a side's player, or the number of its players.
func players(moves []wamble.Move, parity int) string {
	seen := map[wamble.SessionID]bool{}
	only := ""
	for _, m := range moves {
		if m.Ply%2 == parity && !seen[m.Session] {
			seen[m.Session] = true
			only = player(m)
		}
	}
	switch len(seen) {
	case 0:
		return "?"
	case 1:
		return only
	}
	return fmt.Sprintf("%d players", len(seen))
}

func player(m wamble.Move) string {
	if m.Handle != "" {
		return m.Handle
	}
	return fmt.Sprintf("session %d", m.Session)
}
