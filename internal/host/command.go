package host

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

// Door is a way by which commands come. They can be added.
type Door uint8

// The closed list of doors.
const (
	// CommandLine is 'wamble NAME', which uses the control socket.
	CommandLine Door = 1 << iota
	// Socket is the control socket: for the owner of the data directory.
	Socket
	// Console is for whoever has the admin token: POST /console/api/act/NAME if the
	// command changes something, else GET /console/api/NAME.
	Console

	everywhere = CommandLine | Socket | Console
)

// The patience that commands take.
const (
	quick       = 30 * time.Second
	slow        = 5 * time.Minute
	handoffTime = 3 * time.Minute
)

// Command is one row of the table.
type Command struct {
	Name     string
	Doors    Door
	Changes  bool          // it is noted in the audit log
	Role     Role          // that it takes at the console; 0: Read, or Moderate if it changes something
	Takes    bool          // at the console it takes the connection: another image may answer
	Patience time.Duration // for the command and its answer
	Args     []Arg

	Help Help // for CommandLine
	Page Page // for Console, if it changes something
	Doc  Doc  // for docs/operations.md
	Line Line // the answer on the command line, unless Said says it

	// Do carries the command out. Without it, the profiles are told.
	Do func(ctx context.Context, h *Host, c *Call) (any, error)

	// Log is what the log says of a command that the profiles are told, beside its
	// arguments that are not secret.
	Log string
	// First is done once, before the profiles are told; nil: nothing.
	First func(h *Host, a *Arguments)
	// Keep changes what must hold after a restart too; nil: nothing.
	Keep func(r *Restricted, a *Arguments, now time.Time) error
	// Later says that what is kept for all profiles holds in those that come later, too:
	// a ban.
	Later bool
	// Lasting is what a profile is told when it starts, too: that it does not serve
	// players at present is no error.
	Lasting bool
	// Finds says that only profiles are told which know whom it is about.
	Finds bool
	// Fits says why the command cannot be given to a profile that knows whom it is about;
	// nil: it always can.
	Fits func(ctx context.Context, p *Running, a *Arguments) error
	// Tell is what each profile is told.
	Tell func(a *Arguments, r *Restrictions) profile.Input
	// Count is what the command did in one profile, and Said puts it into words.
	Count func(e *Effect) uint64
	Said  func(a *Arguments, n uint64) string
	// Needed says that a command which did nothing in any profile has failed, for
	// the command line.
	Needed bool
}

// everywhere reports whether the command keeps something for all profiles, also for
// those that come later.
func (c *Command) everywhere(a *Arguments) bool { return c.Later && a.Profile == "" }

// ErrNoEffect is returned by Print for a command that met nothing it could change.
var ErrNoEffect = errors.New("nothing was changed")

// ErrRefused is returned by Print for a command that would be refused.
var ErrRefused = errors.New("it would be refused")

// Help is how the command line explains a command.
type Help struct {
	Short, Long, Example string
	// Via is for a command without CommandLine: the words that do the same.
	Via string
}

// Page is how the console offers a command: as a button in a form, beside those of
// other commands with the same arguments. An argument in braces is replaced in
// Confirm. Pages that the console draws by itself have the form Own.
type Page struct {
	Form    string
	Title   string // of the button
	Confirm string // what the host is asked before it is done
}

// Own is the form of commands with a page of their own in web/src/console.
const Own = "own"

// Doc is the line of docs/operations.md: a body of a request, and the rest.
type Doc struct {
	Body, Text string
}

// Line is what the command line does with an answer.
type Line struct {
	// Result returns a pointer to what the answer is read into.
	Result func() any
	Print  func(w io.Writer, result any) error
	JSON   bool // with --json the answer is printed as it is
	// Failed comes before an error; nil: nothing does.
	Failed func(a *Arguments) string
	// Ask asks the server for the answer in another way than Ask does; nil: it does
	// not.
	Ask func(ctx context.Context, dir string, a *Arguments) (any, error)
}

// Call is a command that was given.
type Call struct {
	Args json.RawMessage
	Conn *net.UnixConn // at the control socket, where the answer is waited for; nil: the console
	Web  net.Conn      // at the console, taken from HTTP if the command takes it; nil: it was not
	Key  string        // that the console gives every request; "": it did not
}

// Use is the command with its arguments, as the command line takes it.
func (c *Command) Use() string {
	use := c.Name
	for _, a := range c.Args {
		if a.Word != "" {
			use += " " + a.Word
		}
	}
	return use
}

// Route is the method and the path of the command in the console.
func (c *Command) Route() string {
	if c.Changes {
		return "POST /console/api/act/" + c.Name
	}
	return "GET /console/api/" + c.Name
}

// Read makes arguments of a command line: its words, and the flags that were given.
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

// Ask gives the command to the server that runs on a data directory, and returns
// the answer.
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

// Print says in words what came of the command with these arguments. Errors: ErrNoEffect,
// ErrRefused, and those of w.
func (c *Command) Print(w io.Writer, a *Arguments, result any) error {
	if counts, ok := result.(Counts); ok {
		if err := counts.print(w, func(n uint64) string { return c.Said(a, n) }); err != nil {
			return err
		}
		if c.Needed && counts.none() {
			return ErrNoEffect
		}
		return nil
	}
	return c.Line.Print(w, result)
}

// Wrong is an error with the words that come before it.
func (c *Command) Wrong(a *Arguments, err error) error {
	if c.Line.Failed == nil {
		return err
	}
	return fmt.Errorf("%s%w", c.Line.Failed(a), err)
}

// arg returns the argument of a name in JSON, which is read without its case.
func (c *Command) arg(name string) *Arg {
	if i := slices.IndexFunc(c.Args, func(a Arg) bool { return strings.EqualFold(a.Name, name) }); i >= 0 {
		return &c.Args[i]
	}
	return nil
}
