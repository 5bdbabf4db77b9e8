package terminal

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"wamble"
	"wamble/chess"
	"wamble/internal/play"
)

// Model is the state of the screen. It is used by one goroutine.
type Model struct {
	Game  *play.Game
	ASCII bool   // the terminal has no glyphs for pieces
	Where string // name of the server, for the title

	width, height int
	theme         theme
	dark          bool
	colors        bool

	input    string       // typed text
	cursor   chess.Square // square that arrow keys move
	shown    bool         // the cursor is visible
	selected chess.Square // square of the selected piece; NoSquare if none
	pressed  chess.Square // square where the mouse button went down
	flipped  bool

	now  time.Time // time of the last message
	said []string  // recent lines, newest last
	page []string  // a long text that covers the screen; nil if none
	from int       // first visible line of page

	chosen wamble.BoardID // chosen board of the wall
}

// maxSaid is how many recent lines are kept.
const maxSaid = 50

// New returns the screen of a game. Dark says whether the terminal is dark, until the terminal
// reports it.
func New(g *play.Game, where string, ascii, dark bool) *Model {
	m := &Model{Game: g, Where: where, ASCII: ascii, dark: dark, colors: true, width: 80, height: 24,
		cursor: chess.SquareAt(4, 1), selected: chess.NoSquare, pressed: chess.NoSquare}
	m.chooseTheme()
	return m
}

func (m *Model) chooseTheme() {
	switch {
	case !m.colors:
		m.theme = noTheme
	case m.dark:
		m.theme = darkTheme
	default:
		m.theme = lightTheme
	}
}

// NoColors is the colour profile of a terminal without colours; higher ones have colours.
const NoColors = 2

// Follow is the message that requests outcomes of the trail; it is sent every few seconds.
type Follow struct{}

// Update handles a message of the terminal or of package play, and returns the effects.
func (m *Model) Update(now time.Time, msg any) []play.Effect {
	m.now = now
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.chooseTheme()
	case tea.ColorProfileMsg:
		m.colors = msg.Profile > NoColors
		m.chooseTheme()
	case tea.KeyPressMsg:
		return append(m.take(m.key(now, msg)), m.take(m.Game.Touched(now))...)
	case tea.PasteMsg:
		m.write(strings.Join(strings.Fields(msg.Content), " "))
	case tea.MouseClickMsg:
		return append(m.take(m.click(now, msg)), m.take(m.Game.Touched(now))...)
	case tea.MouseReleaseMsg:
		return m.take(m.release(now, msg))
	case tea.MouseWheelMsg:
		m.wheel(msg)
	case Follow:
		return m.take(m.Game.Follow())
	default:
		before := m.Game.Board
		effects := m.take(m.Game.Take(now, msg))
		if m.Game.Board != before {
			m.selected, m.shown = chess.NoSquare, false
		}
		return effects
	}
	return nil
}

// First handles effects from before the screen existed.
func (m *Model) First(effects []play.Effect) []play.Effect { return m.take(effects) }

// take shows texts, and returns the other effects.
func (m *Model) take(effects []play.Effect) []play.Effect {
	return slices.DeleteFunc(effects, func(e play.Effect) bool {
		switch e := e.(type) {
		case play.Say:
			first, _, _ := strings.Cut(e.Text, "\n") // the board shows the other lines
			m.say(first)
		case play.Show:
			lines := strings.Split(e.Text, "\n")
			if len(lines) == 1 {
				m.say(e.Text)
				return true
			}
			m.page, m.from = lines, 0
		case play.News:
			if m.Game.Wall.Focus != 0 {
				m.say(e.Text)
			}
		default:
			return false
		}
		return true
	})
}

func (m *Model) say(text string) {
	m.said = append(m.said, text)
	m.said = m.said[max(0, len(m.said)-maxSaid):]
}

// Last returns the last text.
func (m *Model) Last() string {
	if len(m.said) == 0 {
		return ""
	}
	return m.known(m.said[len(m.said)-1])
}

// walled reports whether the screen shows the wall.
func (m *Model) walled() bool { return m.Game.Wall.On && m.Game.Wall.Focus == 0 }

// watched returns the only watched board; nil if there is none.
func (m *Model) watched() *play.Board {
	if w := &m.Game.Wall; w.On && w.Focus != 0 {
		return w.Boards[w.Focus]
	}
	return nil
}

// held returns the board on the screen without the move in flight: the watched one, or the
// player's.
func (m *Model) held() *play.Board {
	if b := m.watched(); b != nil {
		return b
	}
	return m.Game.Board
}

// board returns the board to draw, after the move in flight.
func (m *Model) board() *play.Board {
	g := m.Game
	if b := m.watched(); b != nil {
		return b
	}
	if g.Sending != nil && g.Left != nil && g.Left.ID == g.Sending.Board {
		return g.Left
	}
	return g.Board
}

// movable reports whether a move can be chosen on the board, to play or predict it.
func (m *Model) movable() bool {
	return m.held() != nil && (m.watched() != nil || m.Game.Sending == nil)
}

// targets returns the moves of the selected piece.
func (m *Model) targets() []chess.Move {
	if !m.movable() || !m.selected.Valid() {
		return nil
	}
	return m.held().Position.LegalFrom(nil, m.selected)
}
