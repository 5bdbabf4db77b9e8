package terminal

import (
	"image/color"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"wamble"
	"wamble/chess"
	"wamble/internal/play"
)

// trueColor is the profile of a terminal with all colours.
const trueColor = 5

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// table is a screen without colours, with a player on board 12.
func table(t *testing.T, fen string) *Model {
	t.Helper()
	m := New(play.New(play.Saved{}, nil, false), "localhost:8888", true, true)
	m.Update(noon, tea.ColorProfileMsg{Profile: NoColors})
	m.Update(noon, play.Greeted{Assignment: play.Assignment{Board: board(t, 12, fen)}})
	return m
}

func board(t *testing.T, id wamble.BoardID, fen string) *play.Board {
	t.Helper()
	b, err := play.ReadBoard(id, fen, false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// press types keys; those with longer names are separated by spaces.
func press(m *Model, keys ...string) []play.Effect {
	special := map[string]rune{"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape,
		"backspace": tea.KeyBackspace,
		"up":        tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "f1": tea.KeyF1,
		"f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4}
	var all []play.Effect
	for _, key := range keys {
		if code, ok := special[key]; ok {
			all = append(all, m.Update(noon, tea.KeyPressMsg{Code: code})...)
			continue
		}
		for _, r := range key {
			all = append(all, m.Update(noon, tea.KeyPressMsg{Code: r, Text: string(r)})...)
		}
	}
	return all
}

// moved returns the move among effects, "" if they have none.
func moved(effects []play.Effect) string {
	for _, e := range effects {
		if m, ok := e.(play.Move); ok {
			return m.UCI
		}
	}
	return ""
}

func text(m *Model) string { return m.View().Content }

// TestMoves: a move can be typed, completed, chosen with arrow keys, clicked and dragged.
func TestMoves(t *testing.T) {
	const (
		promote = "4k3/P7/8/8/8/8/8/4K3 w - - 0 1"
		castle  = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
	)
	at := func(m *Model, s string) (x, y int) {
		square, err := chess.ParseSquare(s)
		if err != nil {
			t.Fatal(err)
		}
		for x := range m.width {
			for y := range m.height {
				if m.squareAt(x, y) == square {
					return x, y
				}
			}
		}
		t.Fatalf("%s is not on the screen", s)
		return 0, 0
	}
	click := func(m *Model, s string) []play.Effect {
		x, y := at(m, s)
		effects := m.Update(noon, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
		return append(effects, m.Update(noon, tea.MouseReleaseMsg{X: x, Y: y, Button: tea.MouseLeft})...)
	}
	for _, c := range []struct {
		name, fen, want string
		do              func(m *Model) []play.Effect
	}{
		{"typed", chess.StartFEN, "g1f3", func(m *Model) []play.Effect { return press(m, "Nf3", "enter") }},
		{"UCI", chess.StartFEN, "e2e4", func(m *Model) []play.Effect { return press(m, "e2e4", "enter") }},
		{"completed", chess.StartFEN, "g1f3", func(m *Model) []play.Effect { return press(m, "Nf", "tab", "enter") }},
		{"corrected", chess.StartFEN, "e2e4", func(m *Model) []play.Effect { return press(m, "e5", "backspace", "4", "enter") }},
		{"taken back", chess.StartFEN, "", func(m *Model) []play.Effect { return press(m, "e4", "esc", "enter") }},
		{"arrows", chess.StartFEN, "e2e4", func(m *Model) []play.Effect { return press(m, "enter", "enter", "up", "up", "enter") }},
		{"arrows as Black", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", "d7d5",
			func(m *Model) []play.Effect {
				m.cursor = chess.SquareAt(3, 6)
				return press(m, "enter", "enter", "up", "up", "enter")
			}},
		{"clicked", chess.StartFEN, "e2e4", func(m *Model) []play.Effect { click(m, "e2"); return click(m, "e4") }},
		{"dragged", chess.StartFEN, "d2d4", func(m *Model) []play.Effect {
			x, y := at(m, "d2")
			m.Update(noon, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			x, y = at(m, "d4")
			return m.Update(noon, tea.MouseReleaseMsg{X: x, Y: y, Button: tea.MouseLeft})
		}},
		{"clicked elsewhere", chess.StartFEN, "", func(m *Model) []play.Effect { click(m, "e2"); return click(m, "e5") }},
		{"promotion", promote, "a7a8n", func(m *Model) []play.Effect {
			click(m, "a7")
			click(m, "a8")
			return press(m, "N", "enter")
		}},
		{"castled on the king's square", castle, "e1g1", func(m *Model) []play.Effect { click(m, "e1"); return click(m, "g1") }},
	} {
		m := table(t, c.fen)
		if got := moved(c.do(m)); got != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.name, got, c.want, text(m))
		}
	}
}

// TestScreen: the text of a small screen without colours.
func TestScreen(t *testing.T) {
	m := table(t, chess.StartFEN)
	m.Update(noon, tea.WindowSizeMsg{Width: 60, Height: 18})
	press(m, "Nf3", "enter")
	after := board(t, 57, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
	m.Update(noon, play.Moved{Assignment: play.Assignment{Board: after}})
	press(m, "N")
	want := []string{
		" Board 57 - you are Black - move 1",
		"",
		" 1  R  N  B  K  Q  B  N  R    Your trail",
		" 2  P  P  P     P  P  P  P    Nf3    12 waits for an answer",
		" 3     .     .     .     .",
		" 4  .     .  P  .     .",
		" 5     .     .     .     .",
		" 6  .     .     .     .",
		" 7  p  p  p  p  p  p  p  p",
		" 8  r  n  b  k  q  b  n  r",
		"    h  g  f  e  d  c  b  a",
		" Here is board 12, you are White.",
		" Your Nf3 stays on board 12; here is board 57, you are",
		" Black.",
		"",
		"",
		"> N   Na6 Nc6 Nf6 Nh6",
		" ^C quit - F1 help - type a move - F2 wall - F3 trail",
	}
	var got []string
	for line := range strings.Lines(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(text(m), "")) {
		got = append(got, strings.TrimRight(line, " \n"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnnouncement: a lasting announcement is below the title, with the remaining time, until
// it ends or is withdrawn; an older one comes back then.
func TestAnnouncement(t *testing.T) {
	m := table(t, chess.StartFEN)
	second := func() string {
		return strings.TrimSpace(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(strings.Split(text(m), "\n")[1],
			""))
	}
	m.Update(noon, play.Notice{ID: 1, Text: "Tournament on Sunday", For: time.Hour})
	m.Update(noon, play.Notice{ID: 2, Text: "We move", For: 30 * time.Minute, Countdown: true})
	if got := second(); got != "We move. In 30 minutes." {
		t.Errorf("got %q", got)
	}
	m.Update(noon.Add(10*time.Minute), Follow{})
	if got := second(); got != "We move. In 20 minutes." {
		t.Errorf("after ten minutes: %q", got)
	}
	m.Update(noon.Add(31*time.Minute), Follow{})
	if got := second(); got != "Tournament on Sunday." {
		t.Errorf("when it is over: %q", got)
	}
	m.Update(noon.Add(32*time.Minute), play.Notice{ID: 1, Text: "Tournament on Sunday"})
	if got := second(); got != "" {
		t.Errorf("when all are withdrawn: %q", got)
	}
}

// TestPage: a text that is longer than the screen can be read to its end, also where its
// lines are folded.
func TestPage(t *testing.T) {
	m := table(t, chess.StartFEN)
	m.Update(noon, tea.WindowSizeMsg{Width: 30, Height: 16})
	press(m, "f1")
	for range 100 {
		press(m, "down")
	}
	if !strings.Contains(text(m), "leave") {
		t.Errorf("the end of the help is not seen:\n%s", text(m))
	}
	if press(m, "up"); strings.Contains(text(m), "leave") {
		t.Errorf("one line up, the end is still seen:\n%s", text(m))
	}
	if press(m, "x"); !strings.Contains(text(m), "you are White") || m.input != "" {
		t.Errorf("the board is not back:\n%s", text(m))
	}
}

// TestEverySize: a screen is never larger than the terminal, and never fails.
func TestEverySize(t *testing.T) {
	fill := func(m *Model) {
		for i := range 30 {
			m.Update(noon, play.Seen{Board: board(t, wamble.BoardID(i+1), chess.StartFEN)})
		}
	}
	for name, set := range map[string]func(m *Model){
		"board": func(m *Model) {},
		"typed": func(m *Model) { press(m, "N") },
		"page":  func(m *Model) { press(m, "f1") },
		"wall":  func(m *Model) { m.Update(noon, play.Watching{}); fill(m) },
		"focus": func(m *Model) { fill(m); m.Update(noon, play.Watching{Board: 3}) },
		"empty": func(m *Model) { m.Update(noon, play.Watching{}) },
	} {
		for _, colors := range []tea.ColorProfileMsg{{Profile: NoColors}, {Profile: trueColor}} {
			for width := 1; width < 130; width += 10 {
				for height := 1; height < 50; height += 6 {
					m := table(t, chess.StartFEN)
					m.ASCII = false
					m.Update(noon, colors)
					m.Update(noon, tea.WindowSizeMsg{Width: width, Height: height})
					set(m)
					v := m.View()
					if w, h := lipgloss.Width(v.Content),
						lipgloss.Height(v.Content); h > height && height > 1 || w > width {
						t.Fatalf("%s at %d×%d: got %d×%d\n%s", name, width, height, w, h, v.Content)
					}
					if c := v.Cursor; c != nil && (c.X >= width || c.Y >= height) {
						t.Fatalf("%s at %d×%d: the cursor is at %d, %d", name, width, height, c.X, c.Y)
					}
				}
			}
		}
	}
}

// TestWall: a board of the wall is chosen with keys or the mouse, and a move of it
// predicted.
func TestWall(t *testing.T) {
	m := New(play.New(play.Saved{}, nil, true), "localhost:8888", true, true)
	m.Update(noon, tea.ColorProfileMsg{Profile: NoColors})
	m.Update(noon, play.Greeted{})
	m.Update(noon, play.Watching{})
	for i := range 6 {
		m.Update(noon, play.Seen{Board: board(t, wamble.BoardID(10+i), chess.StartFEN)})
	}
	if !strings.Contains(text(m), "The wall, 6 boards") || !strings.Contains(text(m), ">10 white") ||
		strings.Contains(text(m), "15 white") {
		t.Errorf("got\n%s", text(m))
	}
	byBot := board(t, 12, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
	byBot.Bot = true
	m.Update(noon, play.Seen{Board: byBot})
	if n := strings.Count(text(m), " bot"); n != 1 || !strings.Contains(text(m), "12 black bot") {
		t.Errorf("%d boards are marked, want board 12:\n%s", n, text(m))
	}
	if effects := press(m, "right", "enter"); !slices.Contains(effects, play.Effect(play.Watch{Board: 11})) {
		t.Errorf("got %+v, want board 11", effects)
	}
	press(m, "down", "down")
	if effects := m.Update(noon, tea.MouseClickMsg{X: 2, Y: 3, Button: tea.MouseLeft}); !slices.Contains(effects,
		play.Effect(play.Watch{Board: 14})) {
		t.Errorf("got %+v, want board 14, of the second page", effects)
	}
	m.Update(noon, play.Watching{Board: 14})
	if effects := press(m, "e4", "enter"); !slices.Contains(effects,
		play.Effect(play.Predict{Board: 14, UCI: "e2e4", SAN: "e4"})) {
		t.Errorf("got %+v, want a prediction", effects)
	}
	m.Update(noon, play.Predictions{Board: 14, Rows: []play.Prediction{{UCI: "e2e4", Count: 2, Own: true}}})
	if !strings.Contains(text(m), "e4     2 yours") {
		t.Errorf("got\n%s", text(m))
	}
	if effects := press(m, "esc"); !slices.Contains(effects, play.Effect(play.Watch{})) {
		t.Errorf("got %+v, want the wall", effects)
	}
}

// TestThemes: boards differ on dark and light terminals, and show all without colours.
func TestThemes(t *testing.T) {
	m := table(t, chess.StartFEN)
	m.ASCII = false
	seen := map[string]bool{}
	for _, background := range []color.Color{color.Black, color.White} {
		m.Update(noon, tea.ColorProfileMsg{Profile: trueColor})
		m.Update(noon, tea.BackgroundColorMsg{Color: background})
		seen[text(m)] = true
	}
	m.Update(noon, tea.ColorProfileMsg{Profile: NoColors})
	plain := text(m)
	seen[plain] = true
	if len(seen) != 3 {
		t.Errorf("there are %d looks, want 3", len(seen))
	}
	for _, sign := range []string{"♔", "♚", "♙", "♟"} {
		if !strings.Contains(plain, sign) {
			t.Errorf("%s is missing:\n%s", sign, plain)
		}
	}
	press(m, "enter", "enter")
	if !strings.Contains(text(m), "[♙]") || !strings.Contains(text(m), " * ") {
		t.Errorf("without colours cursor and targets are not seen:\n%s", text(m))
	}
}
