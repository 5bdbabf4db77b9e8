package importer

import (
	"fmt"
	"strings"

	"wamble"
	"wamble/chess"
)

// played is a move as the original has it.
type played struct {
	session int64
	uci     string
	number  int // the full-move number after the move: 1, 2, 2, 3, 3 …
}

// game is a replayed game.
type game struct {
	order  []int    // the moves by ply, as indexes of what was replayed
	moves  []string // by ply, in our spelling
	end    chess.Position
	ending chess.Outcome
}

// begin returns the first position of a variant: -1 for classical chess.
func begin(variant int16) (chess.Position, error) {
	if variant < 0 {
		return chess.Start(), nil
	}
	return chess.Chess960(int(variant))
}

// replay plays the moves of a board in the order of their numbers. Of two with one number that one comes
// first which is legal: the side to move decides. It returns why the moves do not lead to the position fen;
// "" if they do.
func replay(variant int16, fen string, moves []played) (g game, why string) {
	p, err := begin(variant)
	if err != nil {
		return game{}, err.Error()
	}
	want, err := chess.ParseFEN(fen)
	if err != nil {
		return game{}, "its FEN is wrong: " + err.Error()
	}
	rest := make([]int, len(moves))
	for i := range rest {
		rest[i] = i
	}
	for len(rest) > 0 {
		at, move, err := 0, chess.Move(0), error(nil)
		for at = 0; at < min(2, len(rest)) && moves[rest[at]].number == moves[rest[0]].number; at++ {
			if move, err = spell(&p, moves[rest[at]].uci); err == nil {
				break
			}
		}
		if err != nil {
			return game{}, fmt.Sprintf("%q is not legal at ply %d: the original has lost moves before it, or stored it wrongly",
				moves[rest[0]].uci, len(g.order)+1)
		}
		g.order, g.moves = append(g.order, rest[at]), append(g.moves, move.String())
		rest = append(rest[:at], rest[at+1:]...)
		p = p.Play(move)
	}
	// The original clears the castling rights of a Chess960 board too early.
	if same := func(p chess.Position) string { f := strings.Fields(p.FEN()); f[2] = ""; return strings.Join(f, " ") }; same(p) != same(want) {
		return game{}, fmt.Sprintf("its %d moves lead to %s, and it stands at %s", len(moves), p.FEN(), fen)
	}
	g.end, g.ending = p, p.Outcome(nil)
	return g, ""
}

// spell reads a move as the original's clients could write it: with an upper-case promotion, or with more
// behind four characters, which it ignored.
func spell(p *chess.Position, uci string) (chess.Move, error) {
	move, err := p.ParseUCI(strings.ToLower(uci))
	if err != nil && len(uci) > 4 {
		move, err = p.ParseUCI(uci[:4])
	}
	return move, err
}

// results and reasons are the ends of games in our words.
var (
	results = map[string]wamble.Result{"w": wamble.WhiteWins, "b": wamble.BlackWins, "d": wamble.Draw}
	reasons = map[chess.Reason]string{chess.Checkmate: "checkmate", chess.Stalemate: "stalemate", chess.FiftyMoves: "fifty-move rule"}
)
