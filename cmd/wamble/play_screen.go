package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"wamble/internal/play"
	"wamble/internal/terminal"
)

// followEvery is the interval at which the trail is updated.
const followEvery = 4 * time.Second

// screen is a tea.Model that runs a terminal.Model, and passes its effects to the connection.
type screen struct {
	*terminal.Model
	conn  *connection
	first []play.Effect
	ask   bool // ask the terminal whether it is dark
	ended bool // the server has ended the game
}

// playScreen shows the game on the whole terminal until the player leaves.
func playScreen(ctx context.Context, s *connection, in io.Reader, out io.Writer, o screenOptions) error {
	dark := o.colors == "dark" || o.colors != "light" && darkTerminal(os.Getenv)
	m := terminal.New(s.game, hostOf(s.address), o.ascii, dark)
	if s.keeper.shared {
		m.First([]play.Effect{play.Say{Text: sharedText}})
	}
	model := screen{Model: m, conn: s, first: s.first(), ask: o.colors == "auto"}
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)}
	if o.colors == "none" {
		options = append(options, tea.WithColorProfile(terminal.NoColors))
	}
	p := tea.NewProgram(model, options...)
	s.run("results for the screen", func() {
		for {
			select {
			case r := <-s.results:
				p.Send(r.msg)
			case <-ctx.Done():
				return
			}
		}
	})
	last, err := p.Run()
	if last, ok := last.(screen); ok && last.ended { // the last message has vanished with the screen
		fmt.Fprintln(out, last.Last())
	}
	if errors.Is(err, tea.ErrInterrupted) { // a signal is no error
		return nil
	}
	return err
}

// screenOptions are the options of the screen's look.
type screenOptions struct {
	ascii  bool
	colors string // auto, dark, light or none
}

func (s screen) Init() tea.Cmd {
	cmds := []tea.Cmd{s.follow(), s.do(s.First(s.first))}
	if s.ask {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "ctrl+z" {
		return s, tea.Suspend
	}
	cmd := s.do(s.Model.Update(time.Now(), msg))
	if _, ok := msg.(play.Ended); ok {
		s.ended = true
	}
	if _, ok := msg.(terminal.Follow); ok {
		cmd = tea.Batch(cmd, s.follow())
	}
	return s, cmd
}

// follow returns a command that sends terminal.Follow after followEvery.
func (s screen) follow() tea.Cmd {
	return tea.Tick(followEvery, func(time.Time) tea.Msg { return terminal.Follow{} })
}

// do starts effects. Their results arrive as messages.
func (s screen) do(effects []play.Effect) tea.Cmd {
	for _, e := range effects {
		if _, ok := e.(play.Quit); ok {
			return tea.Quit
		}
		if _, err := s.conn.start(e); err != nil {
			s.First([]play.Effect{play.Say{Text: fmt.Sprintf("What belongs to you cannot be kept: %v.", err)}})
		}
	}
	return nil
}

// hostOf returns the host and port of a server's address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// utf8Locale reports whether the locale uses UTF-8.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// darkTerminal guesses from the environment whether the terminal is dark.
func darkTerminal(getenv func(string) string) bool {
	_, background, ok := strings.Cut(getenv("COLORFGBG"), ";")
	return !ok || !(strings.HasSuffix(background, "7") || strings.HasSuffix(background, "15"))
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// canScreen reports whether input and output are a terminal that supports a full screen.
func canScreen(in io.Reader, out io.Writer) bool {
	return isTerminal(in) && isTerminal(out) && os.Getenv("TERM") != "dumb"
}
