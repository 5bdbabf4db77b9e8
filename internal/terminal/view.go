package terminal

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"wamble/chess"
	"wamble/internal/play"
)

// View draws the screen.
func (m *Model) View() tea.View {
	lines, cursor := m.lines()
	for i, line := range lines {
		if lipgloss.Width(line) > m.width {
			lines[i] = lipgloss.NewStyle().MaxWidth(m.width).Render(line)
		}
	}
	v := tea.NewView(strings.Join(lines[:min(len(lines), m.height)], "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "Wamble"
	if b := m.held(); b != nil {
		v.WindowTitle = fmt.Sprintf("Wamble: board %d", b.ID)
	}
	v.Cursor = cursor
	return v
}

// lines returns the lines of the screen and the cursor, nil to hide it.
func (m *Model) lines() ([]string, *tea.Cursor) {
	if m.width < minWidth || m.height < minHeight {
		return []string{"Wamble needs a", m.known(fmt.Sprintf("window of %d×%d.", minWidth, minHeight))}, nil
	}
	if m.page != nil {
		return m.pageLines(), nil
	}
	middle := m.boardLines
	if m.walled() {
		middle = m.wallLines
	}
	lines := append([]string{m.title(), m.announced()}, middle()...)
	for len(lines) < m.height-2 {
		lines = append(lines, "")
	}
	lines = append(lines[:m.height-2], m.prompt(), m.keys())
	return lines, tea.NewCursor(min(2+lipgloss.Width(m.input), m.width-1), m.height-2)
}

// announced returns the line below the title: an announcement that stays, or "".
func (m *Model) announced() string {
	text := m.Game.Announced(m.now)
	if text == "" {
		return ""
	}
	return " " + m.theme.style(m.theme.alarm).Render(m.known(strings.ReplaceAll(text, "\n", " ")))
}

// title returns the first line: the board at the left, the player at the right.
func (m *Model) title() string {
	left := "Wamble"
	b := m.held()
	g := m.Game
	switch {
	case m.walled():
		left = fmt.Sprintf("The wall, %d boards", len(g.Wall.Boards))
	case b == nil && g.Place > 1:
		left = fmt.Sprintf("Waiting for a board, %d before you", g.Place-1)
	case b == nil:
		left = "Waiting for a board"
	case m.watched() != nil:
		left = fmt.Sprintf("Watching board %d · %s to move · move %d", b.ID, b.Side(), b.Position.FullmoveNumber())
		if b.Bot {
			left += " · a program moved"
		}
	case g.Sending != nil:
		left = fmt.Sprintf("Board %d · sending %s …", g.Sending.Board, g.Sending.SAN)
	default:
		left = fmt.Sprintf("Board %d · you are %s · move %d", b.ID, b.Side(), b.Position.FullmoveNumber())
	}
	if b != nil && b.Chess960 && !m.walled() {
		left += " · Chess960"
	}
	left = " " + lipgloss.NewStyle().Bold(true).Render(m.known(left))
	if b != nil && !m.walled() && g.Sending == nil && b.Position.InCheck() {
		left += " " + m.theme.style(m.theme.alarm).Bold(true).Render("check!")
	}
	who := "guest"
	if g.Stats.Handle != "" {
		who = g.Stats.Handle
	}
	right := m.theme.style(m.theme.faint).Render(m.known(fmt.Sprintf("%s · %.1f points · %s ", who, g.Stats.Score,
		m.Where)))
	if g.Offline {
		right = m.theme.style(m.theme.alarm).Render(m.known("reconnecting … "))
	}
	gap := m.width - lipgloss.Width(left) - lipgloss.Width(right)
	if gap < 1 {
		return left
	}
	return left + strings.Repeat(" ", gap) + right
}

// boardLines returns the board with the panel beside it and recent texts below.
func (m *Model) boardLines() []string {
	l := m.layout()
	var lines []string
	b := m.board()
	marks := m.marks()
	for row := range 8 {
		for part := range l.cellHeight {
			label := "   "
			if part == (l.cellHeight-1)/2 {
				label = m.theme.style(m.theme.faint).Render(fmt.Sprintf(" %d ", m.squareOf(0, row).Rank()+1))
			}
			var line strings.Builder
			line.WriteString(label)
			for column := range 8 {
				line.WriteString(m.cell(b, m.squareOf(column, row), l, part, marks))
			}
			lines = append(lines, line.String())
		}
	}
	files := strings.Repeat(" ", l.left)
	for column := range 8 {
		before := (l.cellWidth - 1) / 2
		files += strings.Repeat(" ", before) + string(rune('a'+m.squareOf(column, 0).File())) +
			strings.Repeat(" ", l.cellWidth-before-1)
	}
	lines = append(lines, m.theme.style(m.theme.faint).Render(files))
	if l.panel > 0 {
		lines = beside(lines, l.panel, m.panel(l.panelWidth, len(lines)))
	}
	return append(lines, m.saidLines(l.said)...)
}

// beside appends more to lines, beginning at a column.
func beside(lines []string, column int, more []string) []string {
	for i := range min(len(lines), len(more)) {
		lines[i] += strings.Repeat(" ", max(0, column-lipgloss.Width(lines[i]))) + more[i]
	}
	return lines
}

// marks returns the squares that the selected piece can move to.
func (m *Model) marks() map[chess.Square]bool {
	set := map[chess.Square]bool{}
	for _, move := range m.targets() {
		set[move.To()] = true
	}
	return set
}

// cell draws one row of a square. Characters repeat what colours show: brackets for the cursor,
// angles for the selected piece, parentheses for captures, dots for other destinations.
func (m *Model) cell(b *play.Board, s chess.Square, l layout, part int, marks map[chess.Square]bool) string {
	text := strings.Repeat(" ", l.cellWidth)
	shade := (s.File() + s.Rank()) % 2 // 0 is dark
	piece := chess.Piece{}
	if b != nil {
		piece = b.Position.PieceAt(s)
	}
	if part == (l.cellHeight-1)/2 {
		open, glyph, end := " ", m.glyph(piece), " "
		if piece.Kind == chess.None && m.theme.plain && shade == 0 {
			glyph = "."
		}
		if marks[s] && piece.Kind == chess.None {
			glyph = "*"
			if !m.ASCII && !m.theme.plain {
				glyph = "•"
			}
		}
		switch {
		case m.shown && s == m.cursor:
			open, end = "[", "]"
		case s == m.selected:
			open, end = "<", ">"
		case marks[s] && piece.Kind != chess.None:
			open, end = "(", ")"
		}
		side := strings.Repeat(" ", (l.cellWidth-3)/2)
		text = side + open + glyph + end + side
	}
	if m.theme.plain {
		return text
	}
	background := m.theme.squares[shade]
	switch {
	case s == m.selected || marks[s]:
		background = m.theme.chosen[shade]
	case b != nil && b.From.Valid() && (s == b.From || s == b.To):
		background = m.theme.last[shade]
	}
	style := lipgloss.NewStyle().Background(background).Foreground(m.theme.pieces[1])
	if piece.Kind != chess.None {
		style = style.Foreground(m.theme.pieces[piece.Color])
	}
	if s == m.cursor && m.shown {
		style = style.Bold(true)
	}
	return style.Render(text)
}

// panel returns the lines beside the board: predictions of a watched board, otherwise the
// trail.
func (m *Model) panel(width, height int) []string {
	g := m.Game
	head := lipgloss.NewStyle().Bold(true)
	faint := m.theme.style(m.theme.faint)
	var lines []string
	add := func(text string) {
		lines = append(lines, lipgloss.NewStyle().MaxWidth(width).Render(text))
	}
	if b := m.watched(); b != nil {
		add(head.Render("Predictions"))
		if g.Tree.Board != b.ID || len(g.Tree.Rows) == 0 {
			add(faint.Render("none yet: type a move to predict it"))
		}
		for _, row := range g.Tree.Rows {
			text := fmt.Sprintf("%-6s %d", play.Name(b.Position, row.UCI), row.Count)
			if row.Own {
				text += " yours"
			}
			add(text)
		}
	} else {
		add(head.Render("Your trail"))
		if len(g.Trail) == 0 {
			add(faint.Render("Your moves will appear here,"))
			add(faint.Render("each on a board of its own."))
		}
		for i := range g.Trail {
			s := &g.Trail[i]
			add(fmt.Sprintf("%-5s %3d ", s.SAN, s.Board) + m.fate(s))
		}
	}
	return lines[:min(len(lines), height)]
}

// fate returns the outcome of a step in its colour.
func (m *Model) fate(s *play.Step) string {
	style := m.theme.style(m.theme.faint)
	switch s.Fate {
	case play.Won:
		style = m.theme.style(m.theme.accent).Bold(true)
	case play.Lost, play.NotPlayed:
		style = m.theme.style(m.theme.alarm)
	}
	return style.Render(s.Outcome())
}

// saidLines returns the last texts in lines that fit the screen, newest last.
func (m *Model) saidLines(rows int) []string {
	var lines []string
	for i := len(m.said) - 1; i >= 0 && len(lines) < rows; i-- {
		folded := fold(m.known(m.said[i]), m.width-2)
		if i < len(m.said)-1 {
			for j := range folded {
				folded[j] = m.theme.style(m.theme.faint).Render(folded[j])
			}
		}
		lines = append(folded, lines...)
	}
	return lines[max(0, len(lines)-rows):]
}

// fold breaks a text between words into lines; each line begins with a space.
func fold(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && lipgloss.Width(line)+1+lipgloss.Width(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line += " " + word
	}
	return append(lines, line)
}

// prompt returns the input line, followed by completions.
func (m *Model) prompt() string {
	line := m.theme.style(m.theme.accent).Render(">") + " " + m.input
	if words := m.words(); len(words) > 0 {
		line += "   " + m.theme.style(m.theme.faint).Render(strings.Join(words[:min(len(words), 12)], " "))
	}
	return line
}

// keys returns a line with as many of the current keys as fit, the most useful first.
func (m *Model) keys() string {
	hints := []string{"^C quit", "F1 help", "type a move", "F2 wall", "F3 trail", "F4 flip", "tab completes",
		"arrows and enter, or the mouse"}
	switch {
	case m.walled() && m.Game.Only:
		hints = []string{"^C quit", "F1 help", "arrows and enter, or the mouse, choose a board"}
	case m.walled():
		hints = []string{"^C quit", "F1 help", "esc back to yours", "arrows and enter, or the mouse, choose a board"}
	case m.watched() != nil:
		hints = []string{"^C quit", "F1 help", "esc back to the wall", "type or point at a move to predict it"}
	}
	line := " " + hints[0]
	for _, hint := range hints[1:] {
		if longer := line + " · " + hint; lipgloss.Width(longer) <= m.width {
			line = longer
		}
	}
	return m.theme.style(m.theme.faint).Render(m.known(line))
}

// foldedPage returns the long text in lines that fit the screen.
func (m *Model) foldedPage() []string {
	var lines []string
	for _, line := range m.page {
		lines = append(lines, fold(m.known(line), m.width-2)...)
	}
	return lines
}

// pageLines returns the screen with the long text.
func (m *Model) pageLines() []string {
	lines, rows := m.foldedPage(), m.height-3
	from := max(0, min(m.from, len(lines)-rows))
	lines = append([]string{""}, lines[from:min(from+rows, len(lines))]...)
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return append(lines, m.theme.style(m.theme.faint).Render(" up and down scroll, any other key goes back"))
}

// wallLines returns the screen of the wall.
func (m *Model) wallLines() []string {
	page := m.wallPage()
	if len(page) == 0 {
		return append([]string{"", " No board is being played on."}, m.saidLines(3)...)
	}
	columns, rows := m.wallSize()
	order := m.Game.Wall.Order()
	chosen := order[m.chosenIndex(order)]
	var lines []string
	for row := range rows {
		block := make([]string, smallHeight)
		for column := range columns {
			i := row*columns + column
			if i >= len(page) {
				break
			}
			for j, line := range m.small(m.Game.Wall.Boards[page[i]], page[i] == chosen) {
				block[j] += " " + line + strings.Repeat(" ", max(0, smallWidth-1-lipgloss.Width(line)))
			}
		}
		lines = append(lines, block...)
	}
	return append(lines, m.saidLines(1)...)
}

// small draws a small board with its title, seen from White's side.
func (m *Model) small(b *play.Board, chosen bool) []string {
	mark := " "
	if chosen {
		mark = ">"
	}
	title := fmt.Sprintf("%s%d %s", mark, b.ID, strings.ToLower(b.Side()))
	if b.Bot {
		title += " bot"
	}
	style := m.theme.style(m.theme.faint)
	if b.ID == m.Game.Wall.Last {
		style = m.theme.style(m.theme.accent)
	}
	if chosen {
		style = style.Bold(true)
	}
	lines := []string{style.Render(title)}
	for row := range 8 {
		var line strings.Builder
		for column := range 8 {
			line.WriteString(m.smallCell(b, chess.SquareAt(column, 7-row)))
		}
		lines = append(lines, line.String())
	}
	return lines
}

func (m *Model) smallCell(b *play.Board, s chess.Square) string {
	piece := b.Position.PieceAt(s)
	shade := (s.File() + s.Rank()) % 2
	text := m.glyph(piece) + " "
	if m.theme.plain {
		if piece.Kind == chess.None && shade == 0 {
			text = ". "
		}
		return text
	}
	background := m.theme.squares[shade]
	if b.From.Valid() && (s == b.From || s == b.To) {
		background = m.theme.last[shade]
	}
	return lipgloss.NewStyle().Background(background).Foreground(m.theme.pieces[piece.Color]).Render(text)
}
