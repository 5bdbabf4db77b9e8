package terminal

import (
	"image/color"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"wamble/chess"
)

// theme has the colours of a board. Terminals with fewer colours use the nearest ones.
type theme struct {
	plain bool // no colours: shapes alone carry the information
	// squares, last and chosen are the colours of dark and light squares: normal ones, those of
	// the last move, and chosen ones.
	squares, last, chosen [2]color.Color
	// pieces are the colours of White and Black. With outlines the shape distinguishes them, as
	// in print.
	pieces   [2]color.Color
	outlines bool

	faint, accent, alarm color.Color
}

// On a dark terminal both colours of pieces contrast with medium squares; on a light one boards
// look as in print.
var (
	darkTheme = theme{
		squares: [2]color.Color{lipgloss.Color("#4f6577"), lipgloss.Color("#8396a6")},
		last:    [2]color.Color{lipgloss.Color("#6a7a33"), lipgloss.Color("#8f9c4a")},
		chosen:  [2]color.Color{lipgloss.Color("#2f7f6f"), lipgloss.Color("#4fa08f")},
		pieces:  [2]color.Color{lipgloss.Color("#ffffff"), lipgloss.Color("#000000")},
		faint:   lipgloss.Color("#8a8f98"), accent: lipgloss.Color("#7fd1b9"), alarm: lipgloss.Color("#ff8f80"),
	}
	lightTheme = theme{
		squares:  [2]color.Color{lipgloss.Color("#d3ab80"), lipgloss.Color("#f2dfc2")},
		last:     [2]color.Color{lipgloss.Color("#b9b85a"), lipgloss.Color("#dcdc8a")},
		chosen:   [2]color.Color{lipgloss.Color("#8fc3b0"), lipgloss.Color("#b5dccd")},
		pieces:   [2]color.Color{lipgloss.Color("#101010"), lipgloss.Color("#101010")},
		outlines: true,
		faint:    lipgloss.Color("#6a6f78"), accent: lipgloss.Color("#0f6f55"), alarm: lipgloss.Color("#b02010"),
	}
	noTheme = theme{plain: true, outlines: true}
)

// style returns a style with a colour, or without one if the theme is plain.
func (t *theme) style(c color.Color) lipgloss.Style {
	s := lipgloss.NewStyle()
	if !t.plain && c != nil {
		s = s.Foreground(c)
	}
	return s
}

// The pieces by kind, outlined and filled.
var (
	outlined = [...]string{chess.None: " ", chess.Pawn: "♙", chess.Knight: "♘", chess.Bishop: "♗", chess.Rook: "♖",
		chess.Queen: "♕", chess.King: "♔"}
	filled = [...]string{chess.None: " ", chess.Pawn: "♟", chess.Knight: "♞", chess.Bishop: "♝", chess.Rook: "♜",
		chess.Queen: "♛", chess.King: "♚"}
)

// glyph returns the character of a piece.
func (m *Model) glyph(p chess.Piece) string {
	switch {
	case p.Kind == chess.None:
		return " "
	case m.ASCII:
		return p.String()
	case p.Color == chess.White && m.theme.outlines:
		return outlined[p.Kind]
	}
	return filled[p.Kind]
}

// inASCII replaces the program's own non-ASCII characters.
var inASCII = strings.NewReplacer("·", "-", "…", "...", "×", "x")

// known returns a text in characters that the terminal can show.
func (m *Model) known(text string) string {
	if !m.ASCII {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		return '?'
	}, inASCII.Replace(text))
}
