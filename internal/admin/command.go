package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"wamble/internal/profile"
)

// Channel is a set of interfaces that accept commands.
type Channel uint8

// The closed list of doors.
const (
	// CommandLine is 'wamble NAME', which uses the control socket.
	CommandLine Channel = 1 << iota
	// Socket is the control socket, which only the owner of the data directory can open.
	Socket
	// Console is HTTP with an admin token: POST /console/api/act/NAME if the command
	// changes something, else GET /console/api/NAME.
	Console

	allChannels = CommandLine | Socket | Console
)

// The time limits of commands.
const (
	quick       = 30 * time.Second
	slow        = 5 * time.Minute
	handoffTime = 3 * time.Minute
)

// Command is one row of the table.
type Command struct {
	Name      string
	Channels  Channel
	Changes   bool          // it is recorded in the audit log
	Role      Role          // required at the console; 0 for Read, or Moderate if it changes something
	TakesConn bool          // at the console it takes over the connection, which the next process may answer
	Patience  time.Duration // time limit of the command
	Args      []Arg

	Help Help // for CommandLine
	Page Page // for Console, if it changes something
	Doc  Doc  // for docs/operations.md
	Line Line // the answer on the command line, unless Summary is set

	// Do carries out the command. If it is nil, the command is given to the profiles.
	Do func(ctx context.Context, h *Host, c *Call) (any, error)

	// Log is the log message of a command that is given to the profiles. Its arguments that
	// are not secret are added.
	Log string
	// First is called once, before the command is given to the profiles; it may be nil.
	First func(h *Host, a *Arguments)
	// Persist changes restrictions, which hold after a restart too; it may be nil.
	Persist func(r *Restricted, a *Arguments, now time.Time) error
	// Later says that restrictions of all profiles also hold in profiles that are added
	// later.
	Later bool
	// Lasting says that a profile also receives the restriction when it starts. So it is no
	// error that it does not serve players now.
	Lasting bool
	// FindsPlayer says that the command is given only to profiles that know the player.
	FindsPlayer bool
	// Applies returns why the command cannot be given to a profile that knows the player; it
	// may be nil.
	Applies func(ctx context.Context, p *RunningProfile, a *Arguments) error
	// Input returns the input for each profile.
	Input func(a *Arguments, r *Restrictions) profile.Input
	// Count returns what the command did in one profile, and Summary puts it into words.
	Count   func(e *Effect) uint64
	Summary func(a *Arguments, n uint64) string
	// Needed says that on the command line a command without effect in any profile has
	// failed.
	Needed bool
}

// forAllProfiles reports whether the command restricts all profiles, including those that are
// added later.
func (c *Command) forAllProfiles(a *Arguments) bool { return c.Later && a.Profile == "" }

// ErrNoEffect is returned by Print for a command that changed nothing.
var ErrNoEffect = errors.New("nothing was changed")

// ErrRefused is returned by Print for a command that would be refused.
var ErrRefused = errors.New("it would be refused")

// Help is the help of a command on the command line.
type Help struct {
	Short, Long, Example string
	// Via is the command line that does the same, for a command without CommandLine.
	Via string
}

// Page describes a command in the console: a button of a form, which commands with the
// same arguments share. Form is Own for commands with a page of their own.
type Page struct {
	Form    string
	Title   string // of the button
	Confirm string // question before the command is given; {name} is replaced by an argument
}

// Own is the form of commands with a page of their own in web/src/console.
const Own = "own"

// Doc is a command's line in docs/operations.md: an example of a request body, and a text.
type Doc struct {
	Body, Text string
}

// Line describes how the command line asks for an answer and prints it.
type Line struct {
	// Result returns a pointer to a value for the answer.
	Result func() any
	Print  func(w io.Writer, result any) error
	JSON   bool // --json prints the answer as JSON
	// Failed returns a text to put before an error; it may be nil.
	Failed func(a *Arguments) string
	// Ask replaces Command.Ask if it is not nil.
	Ask func(ctx context.Context, dir string, a *Arguments) (any, error)
}

// Call is a command as it was received.
type Call struct {
	Args json.RawMessage
	Conn *net.UnixConn // at the control socket; nil if the command came from the console
	Web  net.Conn      // at the console, if the command took over the connection; else nil
	Key  string        // idempotency key of a request at the console; "" if it has none
}

// Use returns the command with its arguments, as the command line shows it.
func (c *Command) Use() string {
	use := c.Name
	for _, a := range c.Args {
		if a.Word != "" {
			use += " " + a.Word
		}
	}
	return use
}

// Route returns the method and the path of the command in the console.
func (c *Command) Route() string {
	if c.Changes {
		return "POST /console/api/act/" + c.Name
	}
	return "GET /console/api/" + c.Name
}

// Read parses the words and flags of a command line.
func (c *Command) Read(words []string, flag func(name string) (text string, given bool)) (*Arguments, error) {
	a := &Arguments{}
	for i := range c.Args {
		arg, text := &c.Args[i], words
		if arg.Optional && len(words) == 0 {
			continue
		}
		if arg.Word != "" && !arg.Many() {
			text, words = words[:1], words[1:]
		}
		if arg.Flag != "" {
			given, ok := flag(arg.Flag)
			if !ok {
				continue
			}
			text = []string{given}
		}
		if err := arg.read(a, text); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// parse decodes and checks arguments as the control socket and the console receive them.
func (c *Command) parse(a *Arguments, args json.RawMessage) error {
	if len(args) > 0 {
		if err := json.Unmarshal(args, a); err != nil {
			return fmt.Errorf("not the arguments of a command: %w", err)
		}
	}
	for i := range c.Args {
		if check := c.Args[i].Check; check != nil {
			if err := check(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasToken reports whether a player's token is among valid arguments of a command.
func (c *Command) hasToken(args json.RawMessage) bool {
	var a Arguments
	return c.parse(&a, args) == nil &&
		slices.ContainsFunc(c.Args, func(arg Arg) bool { return arg.Token != nil && arg.Token(&a) })
}

// Ask sends the command to the server that runs on a data directory, and returns the
// answer.
func (c *Command) Ask(ctx context.Context, dir string, a *Arguments) (any, error) {
	if c.Line.Ask != nil {
		return c.Line.Ask(ctx, dir, a)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Patience+quick)
	defer cancel()
	if c.Line.Result == nil {
		var counts Counts
		err := Ask(ctx, dir, c.Name, a, &counts)
		return counts, err
	}
	result := c.Line.Result()
	return result, Ask(ctx, dir, c.Name, a, result)
}

// Print writes the result of the command in words. Errors: ErrNoEffect, ErrRefused, and
// those of w.
func (c *Command) Print(w io.Writer, a *Arguments, result any) error {
	if counts, ok := result.(Counts); ok {
		if err := counts.print(w, func(n uint64) string { return c.Summary(a, n) }); err != nil {
			return err
		}
		if c.Needed && counts.none() {
			return ErrNoEffect
		}
		return nil
	}
	return c.Line.Print(w, result)
}

// WrapError returns err with the text of Line.Failed before it.
func (c *Command) WrapError(a *Arguments, err error) error {
	if c.Line.Failed == nil {
		return err
	}
	return fmt.Errorf("%s%w", c.Line.Failed(a), err)
}

// arg returns the argument with a name in JSON, regardless of case; nil if there is none.
func (c *Command) arg(name string) *Arg {
	if i := slices.IndexFunc(c.Args, func(a Arg) bool { return strings.EqualFold(a.Name, name) }); i >= 0 {
		return &c.Args[i]
	}
	return nil
}
