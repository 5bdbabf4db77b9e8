package admin

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/profile"
)

// serverCommands has the commands about the server itself.
var serverCommands = []Command{
	{
		Name: "status", Channels: allChannels, Patience: quick, Args: []Arg{waiting, allMachines},
		Help: Help{
			Short: "Ask the running server how it is",
			Long: `Status asks the server that runs on a data directory: what it serves and where,
its boards and sessions, and how far the database is behind the journal.

With --wait it waits for a server that starts, and fails if that does not serve
players in time. With --cluster it prints a line for each machine that shares the
world with this one: its parts, players and moves, and how far the database is
behind; one that does not answer is shown as the others know it.`,
			Example: `  wamble status
  wamble status --data /var/lib/wamble --json
  wamble status --wait 30s
  wamble status --cluster`,
		},
		Doc:  Doc{Text: "what `wamble status --json` prints"},
		Line: Line{Ask: awaitReady, Print: printStatus, JSON: true},
		Do:   func(ctx context.Context, h *Host, _ *Call) (any, error) { return h.Status(ctx), nil },
	},
	{
		Name: "cluster", Channels: Socket | Console, Patience: quick,
		Help: Help{Via: "status"},
		Doc:  Doc{Text: "all machines that share the world, as `wamble status --cluster --json` prints them"},
		Do:   clusterStatus,
	},
	{
		Name: "vitals", Channels: Console, Patience: quick,
		Doc: Doc{Text: "counters of this moment: moves, latencies by class, queues"},
		Do:  func(ctx context.Context, h *Host, _ *Call) (any, error) { return h.Counters(ctx), nil },
	},
	{
		Name: "history", Channels: Console, Patience: quick, Args: []Arg{chartRange},
		Doc: Doc{`{"range": "days"}`, "moves, games ended, players, boards, lag and memory over the last hour (a " +
			"point every 10 s), or with `?range=days` over two days (a point a minute)"},
		Do: func(_ context.Context, h *Host, c *Call) (any, error) {
			a, err := h.arguments("history", c)
			if err != nil {
				return nil, err
			}
			return h.History(a.Range == "days"), nil
		},
	},
	{
		Name: "log", Channels: Console, Patience: quick,
		Doc: Doc{Text: "the last lines of the log"},
		Do:  func(_ context.Context, h *Host, _ *Call) (any, error) { return h.LogTail(), nil },
	},
	{
		Name: "audit", Channels: Console, Patience: quick,
		Doc: Doc{Text: "the last 100 commands that changed something, with who gave them, newest first, from " +
			"`DATA/audit.log`"},
		Do: func(_ context.Context, h *Host, _ *Call) (any, error) { return h.auditTail() },
	},
	{
		Name: "commands", Channels: Console, Patience: quick,
		Doc: Doc{Text: "the commands that the console offers in forms, with their arguments"},
		Do:  func(_ context.Context, h *Host, _ *Call) (any, error) { return h.forms(), nil },
	},
	{
		Name: "config", Channels: Console, Patience: quick,
		Doc: Doc{Text: "the options that the server and its profiles run with, each with where its value comes from, " +
			"and what a reload would change now; secrets are hidden"},
		Do: func(ctx context.Context, h *Host, _ *Call) (any, error) { return h.effective(ctx), nil },
	},
	{
		Name: "reload", Channels: allChannels, Changes: true, Role: Operate, Patience: slow, Args: []Arg{dryRun},
		Help: Help{
			Short: "Let the running server read its configuration again",
			Long: `Reload lets the server read its configuration file again and run with it, as
SIGHUP does, and says what has changed.

Profiles go on with their players where they can: a profile that is untouched
notices nothing, a port that stays in use is never closed, and a profile whose
database changes is brought to the old one first. A configuration with a mistake,
or one that cannot be reached without a handoff or a restart, changes nothing; the
exit code is 1 then.

With --dry-run nothing is changed: the command says what a reload would change,
option by option, which profiles would begin, end or begin anew, and what only a
handoff or a restart can change. The exit code is 1 if the reload would be refused.`,
			Example: `  wamble reload
  wamble reload --dry-run
  wamble reload --data /var/lib/wamble`,
		},
		Page: Page{Form: Own},
		Doc:  Doc{"{}", "reads the configuration again; with `\"dry_run\": true` it is only compared with what runs"},
		Line: Line{
			Result: func() any { return new(Reloaded) }, Print: printReloaded, JSON: true,
			Failed: func(a *Arguments) string {
				if a.DryRun {
					return "a reload would be refused:\n"
				}
				return "the reload was refused, nothing has changed:\n"
			},
		},
		Do: func(ctx context.Context, h *Host, c *Call) (any, error) {
			a, err := h.arguments("reload", c)
			switch {
			case err != nil:
				return nil, err
			case a.DryRun:
				f, err := h.DryRunReload(ctx, true)
				return Reloaded{Time: time.Now(), Changes: []string{}, DryRun: &f}, err
			}
			return h.Reload(ctx)
		},
	},
	{
		Name: "handoff", Channels: allChannels, Changes: true, Role: Operate, TakesConn: true, Patience: handoffTime,
		Args: []Arg{binary, dryRun},
		Help: Help{
			Short: "Let the running server replace itself by a new binary, without dropping a packet",
			Long: `Handoff makes the server that runs on a data directory check the binary that is
now at its own path, or the one that is named, and become it: the process, its
sockets, boards, players and their connections stay. UDP clients do not notice;
WebSocket clients are told to come back, and resume.

The result is that of the new process. If the new binary refuses, cannot be run
or cannot take over, the old one serves on, and this command says why and fails.
SIGUSR2 does the same.

With --dry-run nothing happens: the new binary is checked, and the command says what
a handoff would change of the configuration and of the databases. Migrations run
when the new binary serves; players play on meanwhile.`,
			Example: `  wamble handoff
  wamble handoff --data /var/lib/wamble
  wamble handoff --dry-run
  wamble handoff --binary ./wamble-next`,
		},
		Page: Page{
			"server", "Hand over to the new binary",
			"The server replaces itself with the binary on disk. Players notice nothing.",
		},
		Doc:  Doc{"{}", "the binary on disk takes over; with `\"dry_run\": true` it is only checked"},
		Line: Line{Result: func() any { return new(handoff.Result) }, Print: printHandoff, JSON: true},
		Do:   handOff,
	},
	{
		Name: "drain", Channels: allChannels, Changes: true, Role: Operate, Patience: quick, Args: []Arg{onOff},
		Help: Help{
			Short: "Let the running server take nobody new, or take them again",
			Long: `Drain on lets a server run empty: whoever plays goes on, nobody new is taken,
and /readyz says 503 to whatever directs players here. Drain off ends that; so
does the end of the server.`,
			Example: `  wamble drain on
  wamble drain off`,
		},
		Page: Page{Form: Own},
		Doc:  Doc{`{"on": true}`, "nobody new is taken"},
		Log:  "draining",
		First: func(h *Host, a *Arguments) {
			h.Draining.Store(a.On)
			a.Profile = "" // draining applies to all profiles
		},
		Lasting: true,
		Input:   func(_ *Arguments, r *Restrictions) profile.Input { return brownoutInput(r.Brownout()) },
		Count:   func(e *Effect) uint64 { return uint64(e.Present()) },
		Summary: func(_ *Arguments, n uint64) string { return counted(n, "player") + " present" },
	},
	{
		Name: "brownout", Channels: allChannels, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{switches, inProfile},
		Help: Help{
			Short: "Let the running server do without something",
			Long: `Brownout lets profiles do without something, so that the rest goes on. The
switches are
  no-new-sessions  who is not known yet is turned away
  no-predictions   no new predictions are taken
  slow-watching    spectators get fewer updates
  read-only        nothing is decided: no moves, no hellos
Those that are named are on, the others off. They hold until they are changed,
after a restart too.`,
			Example: `  wamble brownout no-predictions slow-watching
  wamble brownout read-only --profile club
  wamble brownout off`,
		},
		Page: Page{Form: Own},
		Doc: Doc{`{"profile": "blitz", "brownout": {"NoNewSessions": true, "NoPredictions": true, "SlowWatching": true, "ReadOnly": false}}`,
			"the switches that are on; the others are off"},
		Log:     "brown-out",
		Persist: func(r *Restricted, a *Arguments, _ time.Time) error { r.Brownout = a.Brownout; return nil },
		Lasting: true,
		Input:   func(_ *Arguments, r *Restrictions) profile.Input { return brownoutInput(r.Brownout()) },
		Count:   func(*Effect) uint64 { return 0 },
		Summary: func(*Arguments, uint64) string { return "done" },
	},
	{
		Name: "announce", Channels: allChannels, Changes: true, Patience: quick,
		Args: []Arg{announcement, inProfile, maintenance, staySpan, stayUntil, countdown, withdrawAll},
		Help: Help{
			Short: "Tell all players something",
			Long: `Announce sends a text to everybody who is present, as a notification that
clients show. With --for or --until it stays: whoever comes before that time is told,
too, after a restart and a handoff as well, and browsers show it in a bar; with
--countdown they show how long it is until then. 'wamble announcements' lists what
stays, and 'wamble announce --clear' withdraws it: with --profile what was announced to
that profile alone, else everything.`,
			Example: `  wamble announce The server is restarted at noon
  wamble announce --countdown --for 30m 'We move to a new machine'
  wamble announce --until 2030-01-01T12:00:00Z 'Tournament on Sunday'
  wamble announce --maintenance --profile club 'Back in five minutes'
  wamble announce --clear`,
		},
		Page: Page{"announce", "Announce", "All players read: “{text}”"},
		Doc: Doc{`{"text": "Back in five minutes", "urgent": true, "until": "2099-01-01T12:00:00Z", "countdown": true}`,
			"sends a text to everybody who is present; with `until` also to everybody who comes before; `{\"clear\": " +
				"true}` withdraws what stays"},
		Log:     "an announcement to players",
		Lasting: true,
		Later:   true,
		Persist: (*Restricted).announce,
		Input:   announceInput,
		Count: func(e *Effect) uint64 {
			if e.Args.Clear {
				return uint64(e.Lifted)
			}
			return uint64(e.Present())
		},
		Summary: func(a *Arguments, n uint64) string {
			if a.Clear {
				return counted(n, "announcement") + " withdrawn"
			}
			return "told to " + counted(n, "player")
		},
	},
	{
		Name: "announcements", Channels: allChannels, Patience: quick, Args: []Arg{inProfile},
		Help: Help{
			Short: "List the announcements that stay",
			Long: "Announcements lists what 'wamble announce' has announced until a time that is not over: where, " +
				"until when, by whom.",
			Example: `  wamble announcements`,
		},
		Doc:  Doc{Text: "the announcements that stay, with their end, and who has ordered them"},
		Line: Line{Result: func() any { return new([]announced) }, Print: printAnnouncements, JSON: true},
		Do:   listAnnouncements,
	},
}

func brownoutInput(b profile.Brownout) profile.Input {
	return &profile.SetBrownout{Brownout: b}
}

// handOff hands over to a new process, which answers. From the console only the binary of
// this process may be used. A request with the key of the last handoff, which browsers
// repeat when a connection ends, gets its result without another handoff.
func handOff(ctx context.Context, h *Host, c *Call) (any, error) {
	var a Arguments
	if len(c.Args) > 0 && json.Unmarshal(c.Args, &a) != nil {
		return nil, errors.New("not the arguments of a handoff")
	}
	if c.Conn == nil {
		a.Binary = ""
	}
	if a.DryRun {
		return h.DryRunHandoff(ctx, a.Binary)
	}
	w := HandoffCaller{Key: c.Key}
	if c.Conn != nil {
		w.Conn = c.Conn
	} else if taken, ok := c.Web.(syscall.Conn); ok {
		w.Conn, w.Web = taken, true
	}
	if done := h.EarlierResult(ctx, c.Key); done != nil {
		return done, nil
	}
	return struct{}{}, h.HandOff(ctx, a.Binary, w)
}
