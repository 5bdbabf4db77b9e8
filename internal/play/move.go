package play

import (
	"slices"
	"strings"

	"wamble/chess"
)

// bare removes optional characters of a move: x, +, #, =, -, !, ?, :, spaces and dots.
var bare = strings.NewReplacer("-", "", "x", "", "+", "", "#", "", "=", "", "!", "", "?", "", ":", "", " ", "", ".", "")

// Typed returns the legal moves that a text in SAN or UCI may mean: none, one, or several if it
// is ambiguous. Case matters only if the text is ambiguous without it.
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
	// Also accept a piece move without the square that distinguishes two pieces, and a
	// promotion without its piece.
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

// Complete returns the moves that begin with a prefix, sorted: in SAN, or in UCI if none does
// in SAN.
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
	if len(out) == 0 { // nf completes to Nf3, but b4 only to pawn moves
		for _, m := range legal {
			if text := p.SAN(m); len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
				out = append(out, text)
			}
		}
	}
	slices.Sort(out)
	return out
}

// names returns at most 40 moves in SAN, separated by spaces.
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
