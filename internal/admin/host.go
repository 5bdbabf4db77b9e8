package admin

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

// API has what commands need of a server.
type API struct {
	Dir        string // the data directory
	Log        *slog.Logger
	Runner     *runner.Runner
	Partitions func() []Partition // partitions of a shared journal; nil if Runner has all
	Draining   *atomic.Bool       // new players are refused
	Tokens     *Tokens            // of the console, besides the token in the server's own file
	Serving    context.Context    // ends when the server is to stop
	// Global has the restrictions of all profiles, including those added later.
	Global *Restrictions

	// RunningProfiles returns the profiles that run, in the order of the configuration.
	RunningProfiles func() []RunningProfile
	Status          func(ctx context.Context) Status
	Cluster         func(ctx context.Context) Cluster // all nodes
	Counters        func(ctx context.Context) any     // the current counters
	LogTail         func() []string                   // the last lines of the log
	History         func(days bool) any               // points for charts, of an hour or of days
	// PinMessages keeps messages of the journal that reach the stores, at least until a time.
	PinMessages func(until time.Time)
	// ReportPanic is called with a panic in a command; it may be nil.
	ReportPanic func(error)
	Reload      func(ctx context.Context) (Reloaded, error)
	// DryRunReload returns what a reload would do. With ports it also tries to bind new ports.
	DryRunReload func(ctx context.Context, ports bool) (DryRun, error)
	Options      func() Effective // the options in effect
	// HandOff executes a new binary, and returns only if that fails. The new process
	// answers the waiter.
	HandOff func(ctx context.Context, binary string, w HandoffCaller) error
	// EarlierResult returns the result of the handoff that a request with this key asked for,
	// nil if there was none.
	EarlierResult func(ctx context.Context, key string) *handoff.Result
	// DryRunHandoff returns what a handoff would do, or why it would fail.
	DryRunHandoff func(ctx context.Context, binary string) (handoff.Result, error)
}

// HandoffCaller is the client that waits for the end of a handoff.
type HandoffCaller struct {
	Conn syscall.Conn // nil if its connection does not wait for the next process
	Web  bool         // the connection speaks HTTP
	Key  string       // idempotency key of the request
}

// RunningProfile has what commands need of a profile that runs.
type RunningProfile struct {
	Name         string
	Restrictions *Restrictions
	// Tell gives the profile an input, and waits until it has acted. It returns the
	// host's counters before and after, or loop.ErrNotUp.
	Tell    func(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error)
	Present func(ctx context.Context) int // number of players
	// Stored returns the identity of a key and its sessions, and whether the store may have
	// them. The last is also true if the store does not answer.
	Stored func(ctx context.Context, key wamble.PublicKey) (wamble.PlayerID, []wamble.Session, bool)
	// Database names the store, which profiles with the same name share. Reader reads it.
	Database string
	Reader   Reader
	// Seek looks for at most most players in memory. More says that there are others.
	Seek func(ctx context.Context, of profile.Seek, most int) (found []profile.Present, more bool)
	// Find looks for a player in memory and in the store. Found is zero if there is none.
	Find func(ctx context.Context, n Named) (Found, error)
	// Boards looks for at most most boards in memory.
	Boards func(ctx context.Context, q profile.BoardQuery, most int) []profile.FoundBoard
}

// Found is a player whom a profile knows: a session, or an identity by its key.
type Found struct {
	Session wamble.SessionID
	Key     wamble.PublicKey
}

// Host carries out the commands that are given to a server.
type Host struct {
	API
	commands []Command
	foreign  bool       // the runner is not a journal: its messages may be changed, and are shown as they are
	auditing sync.Mutex // held while the audit log is read or appended to
}

// New returns the host of a server.
func New(s API) *Host {
	return &Host{API: s, commands: Commands}
}

// reportPanic passes a panic to ReportPanic.
func (h *Host) reportPanic(err error) {
	if h.ReportPanic != nil {
		h.ReportPanic(err)
	}
}

// Counts has the result of a command that was given to profiles: the number of players,
// games or bans that it affected, by profile.
type Counts map[string]uint64

// print writes a line for each profile.
func (c Counts) print(w io.Writer, said func(uint64) string) error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, said(c[name])); err != nil {
			return err
		}
	}
	return nil
}

// none reports whether all counts are 0.
func (c Counts) none() bool {
	for _, n := range c {
		if n > 0 {
			return false
		}
	}
	return true
}

// Effect has what a command did in one profile.
type Effect struct {
	Before, After profile.HostStats
	Args          *Arguments
	Lifted        int        // number of bans lifted, or announcements withdrawn
	Stored        bool       // the store has the player whose key the command named
	Present       func() int // returns the number of players
}

// command returns the row of a name, or nil.
func (h *Host) command(name string) *Command {
	if i := slices.IndexFunc(h.commands, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &h.commands[i]
	}
	return nil
}

// do carries out a command.
func (h *Host) do(ctx context.Context, c *Command, call Call) (any, error) {
	if c.Do != nil {
		return c.Do(ctx, h, &call)
	}
	// Read and check the arguments, and log them without secrets.
	var a Arguments
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return nil, fmt.Errorf("not the arguments of a command: %w", err)
	}
	a.by = fromOf(ctx)
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
	return h.applyToProfiles(ctx, c, &a)
}

// applyToProfiles gives a command to the profiles that it names. After an error it goes on with the
// next profile.
func (h *Host) applyToProfiles(ctx context.Context, c *Command, a *Arguments) (Counts, error) {
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return nil, err
	}
	a.lifted = 0
	if c.forAllProfiles(a) {
		if a.lifted, err = h.Global.Change(ctx,
			func(r *Restricted) error { return c.Persist(r, a, time.Now()) }); err != nil {
			return nil, err
		}
	}
	counts := Counts{}
	var errs []error
	for i := range list {
		p := &list[i]
		n, err := p.apply(ctx, c, a)
		if err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", p.Name, err))
			continue
		}
		counts[p.Name] = n
	}
	return counts, errors.Join(errs...)
}

// apply stores what the command restricts, gives the command to the profile, and returns its
// count.
func (p *RunningProfile) apply(ctx context.Context, c *Command, a *Arguments) (uint64, error) {
	e := &Effect{Args: a, Present: func() int { return p.Present(ctx) }}
	// A key stands for the player into whom its owner was merged, but not in a ban.
	if c.Needed && !a.player.Key.IsZero() {
		asked := a.player
		defer func() { a.player = asked }()
		if found, err := p.Find(ctx, Named{Key: asked.Key}); err == nil && !found.Key.IsZero() && !c.Lasting {
			a.player.Key = found.Key
		}
		e.Stored = p.lookUpPlayer(ctx, a)
	}
	// Change the restrictions. A ban in all profiles replaces those of this one.
	var err error
	if c.Persist != nil {
		e.Lifted, err = p.Restrictions.Change(ctx, func(r *Restricted) error {
			if c.forAllProfiles(a) {
				r.drop(a.Whom)
				if a.Clear {
					r.Announced = nil
				}
				return nil
			}
			return c.Persist(r, a, time.Now())
		})
		if err != nil {
			return 0, err
		}
		e.Lifted += a.lifted
	}
	// Skip or refuse a profile that does not know the player.
	if c.FindsPlayer {
		if a.found, err = p.Find(ctx, a.named); err != nil || a.found == (Found{}) {
			return 0, err
		}
	}
	if c.Applies != nil {
		if err = c.Applies(ctx, p, a); err != nil {
			return 0, err
		}
	}
	e.Before, e.After, err = p.Tell(ctx, c.Input(a, p.Restrictions))
	if c.Lasting && errors.Is(err, loop.ErrNotUp) {
		err = nil
	}
	return c.Count(e), err
}

// profilesOf returns the profile of a name, or with "" all that run.
func (h *Host) profilesOf(name string) ([]RunningProfile, error) {
	list := h.RunningProfiles()
	if name == "" {
		return list, nil
	}
	var names []string
	for _, p := range list {
		if p.Name == name {
			return []RunningProfile{p}, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("no profile %q runs here, but %s", name, strings.Join(names, ", "))
}
