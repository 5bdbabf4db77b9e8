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

// Model is what is on the screen. It belongs to one goroutine.
type Model struct {
	Game  *play.Game
	ASCII bool   // the terminal has no signs for pieces
	Where string // the server, for the title

	width, height int
	theme         theme
	dark          bool
	colors        bool

	input    string       // what is typed
	cursor   chess.Square // that arrow keys move
	shown    bool         // the cursor was moved
	selected chess.Square // of the piece that is to move; NoSquare: none
	pressed  chess.Square // where the mouse went down
	flipped  bool

	now  time.Time // of the last message
	said []string  // the last lines, the newest last
	page []string  // a long text over the screen; nil: none
	from int       // first line of the page that is seen

	chosen wamble.BoardID // on the wall
}

// maxSaid is how many lines are remembered.
const maxSaid = 50

// New returns the screen of a game. Dark says what the terminal is like as long as it
// has not said itself.
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

// NoColors is the profile of a terminal that can do no more than bold letters.
const NoColors = 2

// Follow is the message that looks after the trail; it is due every few seconds.
type Follow struct{}

// Update takes a message: of the terminal, or of package play. It returns what is to be
// done.
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

// First takes effects that were wanted before the screen was there.
func (m *Model) First(effects []play.Effect) []play.Effect { return m.take(effects) }

// take shows what is said, and returns the other effects.
func (m *Model) take(effects []play.Effect) []play.Effect {
	return slices.DeleteFunc(effects, func(e play.Effect) bool {
		switch e := e.(type) {
		case play.Say:
			first, _, _ := strings.Cut(e.Text, "\n") // the board shows the rest
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

// Last is what was said last.
func (m *Model) Last() string {
	if len(m.said) == 0 {
		return ""
	}
	return m.known(m.said[len(m.said)-1])
}

// walled reports whether the wall is on the screen.
func (m *Model) walled() bool { return m.Game.Wall.On && m.Game.Wall.Focus == 0 }

// watched is the one board that is watched; nil if there is none.
func (m *Model) watched() *play.Board {
	if w := &m.Game.Wall; w.On && w.Focus != 0 {
		return w.Boards[w.Focus]
	}
	return nil
}

// held is the board on the screen before a move under way: watched, or the player's.
func (m *Model) held() *play.Board {
	if b := m.watched(); b != nil {
		return b
	}
	return m.Game.Board
}

// board is the board as it is drawn: after the move that is under way.
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

// movable reports whether a move can be chosen on the board: played, or predicted.
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
