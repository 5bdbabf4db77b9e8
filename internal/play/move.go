package play

import (
	"slices"
	"strings"

	"wamble/chess"
)

// bare leaves out of a move what people write or leave out: x, +, #, =, -, !, ? and dots.
var bare = strings.NewReplacer("-", "", "x", "", "+", "", "#", "", "=", "", "!", "", "?", "", ":", "", " ", "", ".", "")

// Typed returns the legal moves that a text may mean, in SAN or UCI: none, one, or
// several, if it is ambiguous. Case matters only where it must.
func Typed(p chess.Position, text string) []chess.Move {
	asked := bare.Replace(text)
	if castle := strings.Map(castling, asked); castle == "OO" || castle == "OOO" {
		asked = castle
	}
	if m, err := p.ParseUCI(strings.ToLower(asked)); err == nil {
		return []chess.Move{m}
	}
	legal := p.LegalMoves(nil)
	exact := filter(legal, func(m chess.Move) bool { return bare.Replace(p.SAN(m)) == asked })
	if len(exact) > 0 {
		return exact
	}
	loose := filter(legal, func(m chess.Move) bool { return strings.EqualFold(bare.Replace(p.SAN(m)), asked) })
	if len(loose) > 0 {
		return loose
	}
	// A target without the origin that would tell two pieces apart; a promotion without
	// its piece; castling as on the other kind of board.
	return filter(legal, func(m chess.Move) bool {
		piece := p.PieceAt(m.From())
		target := m.To().String()
		switch {
		case m.Castling():
			return false
		case piece.Kind == chess.Pawn:
			return m.Promotion() != chess.None && (asked == target || asked == m.From().String()+target)
		}
		return asked == strings.ToUpper(string(rune(piece.Kind.Letter())))+target
	})
}

func castling(r rune) rune {
	if r == '0' || r == 'o' {
		return 'O'
	}
	return r
}

func filter(moves []chess.Move, ok func(chess.Move) bool) []chess.Move {
	var out []chess.Move
	for _, m := range moves {
		if ok(m) {
			out = append(out, m)
		}
	}
	return out
}

// Complete returns what can be typed on from a prefix: moves in SAN, or in UCI if the
// prefix looks like that, sorted.
func Complete(p chess.Position, prefix string) []string {
	if prefix == "" {
		return nil
	}
	legal := p.LegalMoves(nil)
	var out []string
	for _, name := range []func(chess.Move) string{p.SAN, chess.Move.String} {
		for _, m := range legal {
			if text := name(m); strings.HasPrefix(text, prefix) && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	if len(out) == 0 { // nf for Nf3, but b4 stays a pawn's
		for _, m := range legal {
			if text := p.SAN(m); len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
				out = append(out, text)
			}
		}
	}
	slices.Sort(out)
	return out
}

// names returns moves in SAN, separated by spaces, at most 40.
func names(p chess.Position, moves []chess.Move) string {
	var list []string
	for _, m := range moves {
		list = append(list, p.SAN(m))
	}
	slices.Sort(list)
	if len(list) > 40 {
		list = append(list[:40], "…")
	}
	return strings.Join(list, " ")
}
