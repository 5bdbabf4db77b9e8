package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"wamble"
	"wamble/internal/handoff"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/runner"
)

// Server is what commands need of a server.
type Server struct {
	Dir      string // the data directory
	Log      *slog.Logger
	Runner   *runner.Runner
	Parts    func() []Part   // of a journal that machines share; nil: Runner has all
	Draining *atomic.Bool    // nobody new is taken
	Tokens   *Tokens         // for the console, beside that of the server's own file
	Serving  context.Context // ends when the server is to stop
	// Everywhere are the restrictions of all profiles, also of those that come later.
	Everywhere *Restrictions

	// Running returns the profiles that run, in the order of the configuration.
	Running func() []Running
	Status  func(ctx context.Context) Status
	Cluster func(ctx context.Context) Cluster // all machines; nil: only this one is known
	Vitals  func(ctx context.Context) any     // the counters of this moment
	Lines   func() []string                   // the last ones of the log
	History func(days bool) any               // points for charts, of an hour or of days
	// Hold keeps what goes from the journal to the stores, until a time at least.
	Hold func(until time.Time)
	// Panicked is told of a panic in a command; nil: nobody is.
	Panicked func(error)
	Reload   func(ctx context.Context) (Reloaded, error)
	// Foresee says what a reload would do. Only if ports is true, it also tries whether
	// the ports that are new can be had.
	Foresee func(ctx context.Context, ports bool) (Foreseen, error)
	Options func() Effective // what the server runs with
	// HandOff becomes another image of the process, and returns only if that fails.
	// That image answers who waits.
	HandOff func(ctx context.Context, binary string, w Waiter) error
	// Repeated returns how the handoff ended that a request with this key asked for,
	// nil if there was none.
	Repeated func(ctx context.Context, key string) *handoff.Result
	// Rehearse says what a handoff would do, or why it would fail.
	Rehearse func(ctx context.Context, binary string) (handoff.Result, error)
}

// Waiter is who waits for the end of a handoff.
type Waiter struct {
	Conn syscall.Conn // nil: nobody does
	Web  bool         // the connection speaks HTTP
	Key  string       // of the request
}

// Running is what commands need of a profile that runs.
type Running struct {
	Name         string
	Restrictions *Restrictions
	// Tell tells the profile something, and waits until it has acted. It returns the
	// counters of the host before and after, or loop.ErrNotUp.
	Tell    func(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error)
	Present func(ctx context.Context) int // players
	// Stored reports whether the store has an identity of a key, which, and its sessions. A
	// store that is away or slow may have it.
	Stored func(ctx context.Context, key wamble.PublicKey) (wamble.PlayerID, []wamble.Session, bool)
	// Database names the store; profiles with the same one share it. Reader asks it.
	Database string
	Reader   Reader
	// Seek looks for people in memory; more says that there are others.
	Seek func(ctx context.Context, of profile.Seek, most int) (found []profile.Present, more bool)
	// Find looks for somebody in memory and in the store; Found is zero if nobody has
	// the name.
	Find func(ctx context.Context, n Named) (Found, error)
	// Boards looks for boards in memory, at most so many.
	Boards func(ctx context.Context, q profile.BoardQuery, most int) []profile.FoundBoard
}

// Found is somebody whom a profile knows: a session, or an identity by its key.
type Found struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
}

// Host carries out the commands that a server is given.
type Host struct {
	Server
	commands []Command
	standby  bool       // it serves nobody, and waits
	auditing sync.Mutex // held while a line is appended to the audit log
}

// New returns the host of a server.
func New(s Server) *Host {
	return &Host{Server: s, commands: Commands}
}

// Standby returns the host of a process that waits for another machine's place: it can
// only be asked how it is.
func Standby(dir string, log *slog.Logger, status func(context.Context) Status) *Host {
	h := &Host{Server: Server{Dir: dir, Log: log, Status: status}, standby: true}
	for _, c := range Commands {
		if c.Name == "status" || c.Name == "cluster" {
			h.commands = append(h.commands, c)
		}
	}
	return h
}

// caught reports a panic.
func (h *Host) caught(err error) {
	if h.Panicked != nil {
		h.Panicked(err)
	}
}

// Counts is what came of a command that the profiles were told: how many players,
// games or bans it met, by profile.
type Counts map[string]uint64

// print says it in words, a line for each profile.
func (c Counts) print(w io.Writer, said func(uint64) string) error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, said(c[name])); err != nil {
			return err
		}
	}
	return nil
}

// none reports whether a command met nothing in any profile.
func (c Counts) none() bool {
	for _, n := range c {
		if n > 0 {
			return false
		}
	}
	return true
}

// Effect is what a command did in one profile.
type Effect struct {
	Before, After profile.HostStats
	Args          *Arguments
	Lifted        int  // bans, or announcements that were withdrawn
	Stored        bool // the identity of a key that the command named
	Present       func() int
}

// command returns the row of a name, or nil.
func (h *Host) command(name string) *Command {
	if i := slices.IndexFunc(h.commands, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &h.commands[i]
	}
	return nil
}

// do carries a command out.
func (h *Host) do(ctx context.Context, c *Command, call Call) (any, error) {
	if c.Do != nil {
		return c.Do(ctx, h, &call)
	}
	var a Arguments
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return nil, fmt.Errorf("not the arguments of a command: %w", err)
	}
	a.by, a.at = fromOf(ctx), time.Now()
	if err := h.findNamed(ctx, c, &a); err != nil {
		return nil, err
	}
	attrs := []any{}
	for i := range c.Args {
		arg := &c.Args[i]
		if arg.Check != nil {
			if err := arg.Check(&a); err != nil {
				return nil, err
			}
		}
		switch value := reflect.ValueOf(arg.At(&a)).Elem(); {
		case arg.Name == "" || arg.Word == "" && value.IsZero():
		case arg.Hide != nil:
			attrs = append(attrs, arg.Name, arg.Hide(value.String()))
		default:
			attrs = append(attrs, arg.Name, value.Interface())
		}
	}
	h.Log.Info(c.Log, attrs...)
	if c.First != nil {
		c.First(h, &a)
	}
	return h.tell(ctx, c, &a)
}

// tell tells a command to the profiles that it is for, and goes on after an error.
func (h *Host) tell(ctx context.Context, c *Command, a *Arguments) (Counts, error) {
	list, err := h.chosen(a.Profile)
	if err != nil {
		return nil, err
	}
	a.lifted = 0
	if c.everywhere(a) {
		if a.lifted, err = h.Everywhere.Change(ctx, func(r *Restricted) error { return c.Keep(r, a, time.Now()) }); err != nil {
			return nil, err
		}
	}
	counts := Counts{}
	var errs []error
	for i := range list {
		p := &list[i]
		n, err := p.obey(ctx, c, a)
		if err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", p.Name, err))
			continue
		}
		counts[p.Name] = n
	}
	return counts, errors.Join(errs...)
}

// obey keeps what is to hold, and tells the profile.
func (p *Running) obey(ctx context.Context, c *Command, a *Arguments) (uint64, error) {
	e := &Effect{Args: a, Present: func() int { return p.Present(ctx) }}
	if c.Needed && !a.player.Key.IsZero() {
		asked := a.player
		defer func() { a.player = asked }()
		if found, err := p.Find(ctx, Named{Key: asked.Key}); err == nil && !found.Key.IsZero() && !c.Lasting {
			a.player.Key = found.Key // that of whom he was merged into
		}
		e.Stored = p.lookUpPlayer(ctx, a)
	}
	var err error
	if c.Keep != nil {
		e.Lifted, err = p.Restrictions.Change(ctx, func(r *Restricted) error {
			if c.everywhere(a) {
				r.drop(a.Whom)
				if a.Clear {
					r.Announced = nil
				}
				return nil
			}
			return c.Keep(r, a, time.Now())
		})
		if err != nil {
			return 0, err
		}
		e.Lifted += a.lifted
	}
	if c.Finds {
		if a.found, err = p.Find(ctx, a.named); err != nil || a.found == (Found{}) {
			return 0, err
		}
	}
	if c.Fits != nil {
		if err = c.Fits(ctx, p, a); err != nil {
			return 0, err
		}
	}
	e.Before, e.After, err = p.Tell(ctx, c.Tell(a, p.Restrictions))
	if c.Lasting && errors.Is(err, loop.ErrNotUp) {
		err = nil
	}
	return c.Count(e), err
}

// chosen returns the profiles that a command is for.
func (h *Host) chosen(name string) ([]Running, error) {
	list := h.Running()
	if name == "" {
		return list, nil
	}
	var names []string
	for _, p := range list {
		if p.Name == name {
			return []Running{p}, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("no profile %q runs here, but %s", name, strings.Join(names, ", "))
}
