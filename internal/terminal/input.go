package terminal

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"wamble/chess"
	"wamble/internal/play"
)

// maxInput bounds the typed text in bytes; twelve words fit.
const maxInput = 160

// key handles a key.
func (m *Model) key(now time.Time, k tea.KeyPressMsg) []play.Effect {
	name := k.String()
	if name == "ctrl+c" || name == "ctrl+d" {
		return []play.Effect{play.Quit{}}
	}
	if m.page != nil {
		m.turnPage(name)
		return nil
	}
	switch name {
	case "enter":
		return m.enter(now)
	case "tab":
		m.complete()
	case "esc":
		return m.escape(now)
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.input)
		m.input = m.input[:len(m.input)-size]
	case "ctrl+u":
		m.input = ""
	case "ctrl+w":
		m.input = m.input[:strings.LastIndexByte(strings.TrimRight(m.input, " "), ' ')+1]
	case "up", "down", "left", "right":
		m.arrow(name)
	case "f1":
		return m.Game.Line(now, "help")
	case "f2":
		if m.Game.Wall.On && !m.Game.Only {
			return m.Game.Line(now, "stop")
		}
		return m.Game.Line(now, "watch")
	case "f3":
		return m.Game.Line(now, "trail")
	case "f4":
		m.flipped = !m.flipped
	default:
		m.write(k.Text)
	}
	return nil
}

// write appends text to the input.
func (m *Model) write(text string) {
	for _, r := range text {
		if unicode.IsPrint(r) && len(m.input) < maxInput {
			m.input += string(r)
		}
	}
}

func (m *Model) turnPage(name string) {
	switch name {
	case "up":
		m.from--
	case "down":
		m.from++
	case "pgup":
		m.from -= m.height - 3
	case "pgdown", "space":
		m.from += m.height - 3
	default:
		m.page = nil
		return
	}
	m.from = max(0, min(m.from, len(m.foldedPage())-(m.height-3)))
}

// enter sends the input, or chooses what is under the cursor.
func (m *Model) enter(now time.Time) []play.Effect {
	line := strings.TrimSpace(m.input)
	m.input = ""
	switch {
	case line != "" && m.watched() != nil && len(play.Typed(m.watched().Position, line)) > 0:
		return m.Game.Line(now, "predict "+line)
	case line != "":
		m.shown = false
		return m.Game.Line(now, line)
	case m.walled():
		return m.focus()
	case !m.shown:
		m.shown = true
	default:
		return m.choose(now, m.cursor)
	}
	return nil
}

// focus watches only the chosen board of the wall.
func (m *Model) focus() []play.Effect {
	order := m.Game.Wall.Order()
	if len(order) == 0 {
		return nil
	}
	return []play.Effect{play.Watch{Board: order[m.chosenIndex(order)]}}
}

// escape clears the input, or else the selection, or else stops watching.
func (m *Model) escape(now time.Time) []play.Effect {
	switch {
	case m.input != "":
		m.input = ""
	case m.selected.Valid():
		m.selected = chess.NoSquare
	case m.watched() != nil:
		return m.Game.Line(now, "watch")
	case m.walled() && !m.Game.Only:
		return m.Game.Line(now, "stop")
	default:
		m.shown = false
	}
	return nil
}

// arrow moves the cursor by one cell on the screen.
func (m *Model) arrow(name string) {
	dx, dy := 0, 0
	switch name {
	case "up":
		dy = -1
	case "down":
		dy = 1
	case "left":
		dx = -1
	case "right":
		dx = 1
	}
	if m.walled() {
		columns, _ := m.wallSize()
		if order := m.Game.Wall.Order(); len(order) > 0 {
			m.chosen = order[max(0, min(m.chosenIndex(order)+dx+dy*columns, len(order)-1))]
		}
		return
	}
	m.shown = true
	if m.bottom() == chess.Black {
		dx, dy = -dx, -dy
	}
	m.cursor = chess.SquareAt(max(0, min(m.cursor.File()+dx, 7)), max(0, min(m.cursor.Rank()-dy, 7)))
}

// choose handles a chosen square: that of a piece, or its destination.
func (m *Model) choose(now time.Time, s chess.Square) []play.Effect {
	if !m.movable() {
		return m.Game.Choose(now, 0) // tells the player why they cannot move
	}
	var to []chess.Move
	for _, move := range m.targets() {
		if move.To() == s || move.Castling() && s == castled(move) {
			to = append(to, move)
		}
	}
	p := m.held().Position
	switch {
	case len(to) == 1:
		m.selected, m.shown = chess.NoSquare, false
		if b := m.watched(); b != nil {
			return []play.Effect{play.Predict{Board: b.ID, UCI: to[0].String(), SAN: p.SAN(to[0])}}
		}
		return m.Game.Choose(now, to[0])
	case len(to) > 1: // a promotion
		name, _, _ := strings.Cut(p.SAN(to[0]), "=")
		m.input = name + "="
		m.selected = chess.NoSquare
		m.say("Promote to Q, R, B or N?")
	case s == m.selected:
		m.selected = chess.NoSquare
	case len(p.LegalFrom(nil, s)) > 0:
		m.selected = s
	default:
		m.selected = chess.NoSquare
	}
	return nil
}

// castled returns the king's square after castling.
func castled(m chess.Move) chess.Square {
	if m.To() > m.From() {
		return chess.SquareAt(6, m.From().Rank())
	}
	return chess.SquareAt(2, m.From().Rank())
}

// click handles a press of the left mouse button.
func (m *Model) click(now time.Time, c tea.MouseClickMsg) []play.Effect {
	if c.Button != tea.MouseLeft {
		return nil
	}
	if m.page != nil {
		m.page = nil
		return nil
	}
	if m.walled() {
		if id := m.wallAt(c.X, c.Y); id != 0 {
			m.chosen = id
			return []play.Effect{play.Watch{Board: id}}
		}
		return nil
	}
	m.pressed = m.squareAt(c.X, c.Y)
	if !m.pressed.Valid() || m.held() == nil {
		return nil
	}
	m.cursor = m.pressed
	return m.choose(now, m.pressed)
}

// release drops a dragged piece.
func (m *Model) release(now time.Time, c tea.MouseReleaseMsg) []play.Effect {
	s := m.squareAt(c.X, c.Y)
	dragged := m.pressed.Valid() && m.pressed == m.selected && s.Valid() && s != m.pressed
	m.pressed = chess.NoSquare
	if !dragged || m.walled() || m.page != nil {
		return nil
	}
	m.cursor = s
	return m.choose(now, s)
}

func (m *Model) wheel(w tea.MouseWheelMsg) {
	name := "down"
	if w.Button == tea.MouseWheelUp {
		name = "up"
	}
	if m.page != nil {
		m.turnPage(name)
	} else if m.walled() {
		m.arrow(name)
	}
}

// words returns the completions of the input.
func (m *Model) words() []string {
	if m.input == "" {
		return nil
	}
	if b := m.watched(); b != nil {
		if list := play.Complete(b.Position, m.input); len(list) > 0 {
			return list
		}
	}
	return m.Game.Words(m.input)
}

// complete extends the input to the common prefix of its completions.
func (m *Model) complete() {
	list := m.words()
	if len(list) == 0 {
		return
	}
	common := list[0]
	for _, word := range list[1:] {
		for !strings.HasPrefix(word, common) {
			common = common[:len(common)-1]
		}
	}
	if len(common) >= len(m.input) {
		m.input = common
	}
}
