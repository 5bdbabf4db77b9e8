package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/profile"
	"wamble/wire"
)

// named says how commands name players.
const named = `A player is named by his token, by his public key (64 hex digits), by his
address, or by a network like 192.0.2.0/24. With - as WHOM the players are read from
standard input, one in a line: other users of the machine can see arguments, and a
token is secret.`

//go:generate go test . -run TestDocumented -update

// Commands is the one table of what a host can tell a server that runs.
var Commands = []Command{
	{
		Name: "status", Doors: everywhere, Patience: quick, Args: []Arg{waiting},
		Help: Help{
			Short: "Ask the running server how it is",
			Long: `Status asks the server that runs on a data directory: what it serves and where,
its boards and sessions, and how far the database is behind the journal.

With --wait it waits for a server that starts, and fails if that does not serve
players in time.`,
			Example: `  wamble status
  wamble status --data /var/lib/wamble --json
  wamble status --wait 30s`,
		},
		Doc:  Doc{Text: "what `wamble status --json` prints"},
		Line: Line{Ask: awaitReady, Print: printStatus, JSON: true},
		Do:   func(ctx context.Context, h *Host, _ *Call) (any, error) { return h.Status(ctx), nil },
	},
	{
		Name: "vitals", Doors: Console, Patience: quick,
		Doc: Doc{Text: "counters of this moment: moves, latencies by class, queues"},
		Do:  func(ctx context.Context, h *Host, _ *Call) (any, error) { return h.Vitals(ctx), nil },
	},
	{
		Name: "bans", Doors: Console, Patience: quick,
		Doc: Doc{Text: "who is banned where, why, and until when"},
		Do:  func(_ context.Context, h *Host, _ *Call) (any, error) { return h.bans(), nil },
	},
	{
		Name: "log", Doors: Console, Patience: quick,
		Doc: Doc{Text: "the last lines of the log"},
		Do:  func(_ context.Context, h *Host, _ *Call) (any, error) { return h.Lines(), nil },
	},
	{
		Name: "audit", Doors: Console, Patience: quick,
		Doc: Doc{Text: "the last 100 commands that changed something, with who gave them, newest first, from `DATA/audit.log`"},
		Do:  func(_ context.Context, h *Host, _ *Call) (any, error) { return h.audited() },
	},
	{
		Name: "commands", Doors: Console, Patience: quick,
		Doc: Doc{Text: "the commands that the console offers in forms, with their arguments"},
		Do:  func(_ context.Context, h *Host, _ *Call) (any, error) { return h.forms(), nil },
	},
	{
		Name: "reload", Doors: everywhere, Changes: true, Patience: slow,
		Help: Help{
			Short: "Let the running server read its configuration again",
			Long: `Reload lets the server read its configuration file again and run with it, as
SIGHUP does, and says what has changed.

Profiles go on with their players where they can: a profile that is untouched
notices nothing, a port that stays in use is never closed, and a profile whose
database changes is brought to the old one first. A configuration with a mistake,
or one that cannot be reached without a handoff or a restart, changes nothing; the
exit code is 1 then.`,
			Example: `  wamble reload
  wamble reload --data /var/lib/wamble`,
		},
		Page: Page{"server", "Reload the configuration", "The configuration is read again. Profiles that are gone from it end."},
		Doc:  Doc{"{}", "reads the configuration again"},
		Line: Line{
			Result: func() any { return new(Reloaded) }, Print: printReloaded,
			Failed: "the reload was refused, nothing has changed:\n",
		},
		Do: func(ctx context.Context, h *Host, _ *Call) (any, error) { return h.Reload(ctx) },
	},
	{
		Name: "handoff", Doors: everywhere, Changes: true, Takes: true, Patience: handoffTime, Args: []Arg{binary, dryRun},
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
		Page: Page{"server", "Hand over to the new binary", "The server replaces itself with the binary on disk. Players notice nothing."},
		Doc:  Doc{"{}", "the binary on disk takes over; with `\"dry_run\": true` it is only checked"},
		Line: Line{Result: func() any { return new(handoff.Result) }, Print: printHandoff, JSON: true},
		Do:   handOff,
	},
	{
		Name: "drain", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{onOff},
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
			a.Profile = "" // it is all of the server that drains
		},
		Lasting: true,
		Tell:    func(_ *Arguments, r *Restrictions) profile.Input { return brownoutInput(r.Brownout()) },
		Count:   func(e *Effect) uint64 { return uint64(e.Present()) },
		Said:    func(n uint64) string { return counted(n, "player") + " present" },
	},
	{
		Name: "brownout", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{switches, inProfile},
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
		Keep:    func(r *Restricted, a *Arguments, _ time.Time) error { r.Brownout = a.Brownout; return nil },
		Lasting: true,
		Tell:    func(_ *Arguments, r *Restrictions) profile.Input { return brownoutInput(r.Brownout()) },
		Count:   func(*Effect) uint64 { return 0 },
		Said:    func(uint64) string { return "done" },
	},
	{
		Name: "announce", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{announcement, inProfile, maintenance},
		Help: Help{
			Short: "Tell all players something",
			Long: `Announce sends a text to everybody who is present, as a notification that
clients show.`,
			Example: `  wamble announce The server is restarted at noon
  wamble announce --maintenance --profile club 'Back in five minutes'`,
		},
		Page: Page{"announce", "Announce", "All players read: “{text}”"},
		Doc:  Doc{`{"text": "Back in five minutes", "urgent": true}`, "sends a text to everybody who is present"},
		Log:  "an announcement to players",
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			notice := wire.NoticeAnnouncement
			if a.Urgent {
				notice = wire.NoticeMaintenance
			}
			return &profile.Announce{Notice: notice, Text: a.Text}
		},
		Count: func(e *Effect) uint64 { return uint64(e.Present()) },
		Said:  func(n uint64) string { return "told to " + counted(n, "player") },
	},
	{
		Name: "kick", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{player, reason, inProfile},
		Help: Help{
			Short: "End sessions of players",
			Long: `Kick ends sessions: their boards are free again, and their clients are told.
Who was kicked may come back; 'wamble ban' keeps him out.

` + named,
			Example: `  wamble kick 192.0.2.7 --reason 'too loud'
  wamble kick - < tokens`,
		},
		Page: Page{"players", "Kick", "{whom} is disconnected and loses the board."},
		Doc:  Doc{`{"whom": "192.0.2.7", "text": "why"}`, "a token, a public key, an address or a network"},
		Log:  "players are kicked",
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Kick{Whom: a.player, Text: a.Text}
		},
		Count: func(e *Effect) uint64 { return e.After.Kicked - e.Before.Kicked },
		Said:  func(n uint64) string { return counted(n, "session") + " ended" },
	},
	{
		Name: "ban", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{player, reason, banSpan, inProfile},
		Help: Help{
			Short: "Keep players out",
			Long: `Ban ends sessions and keeps whoever was named out, for a time or until 'wamble
unban'. It holds after a restart too, and without --profile also in profiles that are
added later.

` + named,
			Example: `  wamble ban 192.0.2.0/24 --for 24h --reason 'flooding'
  wamble ban 2001:db8::7 --profile club`,
		},
		Page:    Page{"players", "Ban", "{whom} is disconnected and turned away from now on."},
		Doc:     Doc{`{"whom": "192.0.2.0/24", "text": "why", "until": "2030-01-01T00:00:00Z"}`, "without `until` for ever"},
		Log:     "players are banned",
		Lasting: true,
		Later:   true,
		Keep: func(r *Restricted, a *Arguments, now time.Time) error {
			return r.ban(Ban{Whom: a.Whom, Text: a.Text, Until: a.Until}, now)
		},
		Tell:  func(a *Arguments, _ *Restrictions) profile.Input { return banInput(a.player, a.Text, a.Until) },
		Count: func(e *Effect) uint64 { return e.After.Kicked - e.Before.Kicked },
		Said:  func(n uint64) string { return "banned, " + counted(n, "session") + " ended" },
	},
	{
		Name: "unban", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{player, inProfile},
		Help: Help{
			Short: "Let players in again",
			Long: `Unban lifts a ban, in all profiles or in one. Name the player exactly as the ban did.
The exit code is 1 if there is no such ban.

` + named,
			Example: `  wamble unban 192.0.2.0/24`,
		},
		Page:    Page{"players", "Lift ban", "{whom} may come back."},
		Doc:     Doc{`{"whom": "192.0.2.0/24"}`, "lifts a ban"},
		Log:     "a ban is lifted",
		Keep:    func(r *Restricted, a *Arguments, _ time.Time) error { r.unban(a.Whom); return nil },
		Lasting: true,
		Later:   true,
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Unban{Whom: a.player}
		},
		Count:  func(e *Effect) uint64 { return uint64(e.Lifted) },
		Said:   func(n uint64) string { return counted(n, "ban") + " lifted" },
		Needed: true,
	},
	{
		Name: "trust", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{somebody, trustLevel, inProfile},
		Help: Help{
			Short: "Set how far a player is trusted",
			Long: `Trust sets the trust level of a session, at once and for good. Profiles and
spectating with a visibility are for players who are trusted so far; rules of the
policy may ask for it, too. New sessions have level 0.

WHOM is the token of the session or its number; or a handle or public key (64 hex
digits), for all sessions that the player has now. With - as WHOM they are read from
standard input, one in a line: other users of the machine can see arguments, and a
token is secret. The exit code is 1 if no database has such a player.

It is the same to change sessions.trust_level in the database: players who are here
notice it within a second.`,
			Example: `  wamble trust h_3b6a27bcceb6 10
  wamble trust - 10 < tokens`,
		},
		Page:  Page{"trust", "Set trust", "{whom} has trust level {level} from now on."},
		Doc:   Doc{`{"whom": "h_3b6a27bcceb6", "level": 10}`, "sets the trust level of a session (token or number), or of all sessions of a player (handle or public key)"},
		Log:   "the trust in a player is set",
		Finds: true,
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Trust{Session: a.found.Session, Key: a.found.Key, Level: a.Level}
		},
		Count: func(e *Effect) uint64 { return e.After.Trusted - e.Before.Trusted },
		Said: func(n uint64) string {
			if n == 0 {
				return "no such player"
			}
			return "trusted"
		},
		Needed: true,
	},
	{
		Name: "rename", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{identity, newName, inProfile},
		Help: Help{
			Short: "Give a player another name",
			Long: `Rename gives an identity a name, at once and for good; its player may not choose
another one for a week. The name has 3 to 20 letters, digits, - or _, and nobody else
may have it, without regard to case. Words that players may not choose are allowed.

WHOM is the name or the public key (64 hex digits) of the player. The exit code is 1 if no
database has such a player.`,
			Example: `  wamble rename rude-word Ann`,
		},
		Page:  Page{"rename", "Rename", "{whom} is called {name} from now on."},
		Doc:   Doc{`{"whom": "rude-word", "name": "Ann"}`, "gives the identity with a name, or with a public key, another name"},
		Log:   "a player has another name",
		Finds: true,
		Fits: func(ctx context.Context, p *Running, a *Arguments) error {
			other, err := p.Find(ctx, Named{Handle: a.Name})
			if err != nil {
				return err
			}
			return unless(other.Key.IsZero() || other.Key == a.found.Key, "%q is the name of another player", a.Name)
		},
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Rename{Key: a.found.Key, Name: a.Name}
		},
		Count: func(e *Effect) uint64 { return e.After.Renamed - e.Before.Renamed },
		Said: func(n uint64) string {
			if n == 0 {
				return "no such player"
			}
			return "renamed"
		},
		Needed: true,
	},
	{
		Name: "sessions", Doors: everywhere, Patience: quick, Args: []Arg{publicKey, inProfile},
		Help: Help{
			Short: "List the sessions of a player",
			Long: `Sessions lists the sessions of an identity that can be resumed, as the database
has them: their number, since when, and when they were last seen. Where somebody
plays from is not kept. 'wamble revoke' ends one of them.

KEY is the public key of the player, 64 hex digits.`,
			Example: `  wamble sessions 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		},
		Doc: Doc{`{"whom": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"}`,
			"the sessions of the identity of a public key, by profile; here the argument is in the query, `?whom=KEY`"},
		Line: Line{Result: func() any { return new([]playerSession) }, Print: printSessions, JSON: true},
		Do:   listSessions,
	},
	{
		Name: "revoke", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{publicKey, sessionNumber, inProfile},
		Help: Help{
			Short: "End sessions of a player for good",
			Long: `Revoke ends sessions of an identity and voids their tokens: one, or all without
--session. Whoever plays in one is told, and his board is free. What the identity
has won stays; who has its key can log in again.

KEY is the public key of the player, 64 hex digits; 'wamble sessions KEY' tells the
numbers. The exit code is 1 if there is no such session.`,
			Example: `  wamble revoke 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29 --session 17`,
		},
		Page: Page{Form: Own},
		Doc:  Doc{`{"whom": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29", "session": 17}`, "ends a session of the identity of a public key for good, without `session` all"},
		Log:  "sessions of a player are revoked",
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Revoke{Key: a.player.Key, Session: a.Session, Stored: a.stored}
		},
		Count:  func(e *Effect) uint64 { return e.After.Revoked - e.Before.Revoked },
		Said:   func(n uint64) string { return counted(n, "session") + " ended" },
		Needed: true,
	},
	{
		Name: "erase", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{publicKey, inProfile},
		Help: Help{
			Short: "Delete a player's data",
			Long: `Erase deletes what belongs to an identity: its public key, its handle, its
rating, the tokens of its sessions, its predictions, and its acceptances of terms.
Whoever plays in one of its sessions is told, and disconnected. The games stay, as
games of nobody. It cannot be undone; who logs in with the key again is somebody new.

KEY is the public key of the player, 64 hex digits. Do it in every profile that
has a database of its own; without --profile that is all of them. The exit code is
1 if none has such an identity.`,
			Example: `  wamble erase 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		},
		Page: Page{"remove", "Erase the player",
			"The identity {whom} is deleted, with its handle, rating, sessions and predictions. Its games stay, as games of nobody. This cannot be undone."},
		Doc: Doc{`{"whom": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"}`, "deletes what belongs to the identity of a public key"},
		Log: "a player's data is deleted",
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Erase{Key: a.player.Key, Sessions: numbersOf(a.stored)}
		},
		Count: func(e *Effect) uint64 {
			if e.Stored || e.After.Erased > e.Before.Erased {
				return 1
			}
			return 0
		},
		Said: func(n uint64) string {
			if n == 0 {
				return "no such identity"
			}
			return "the identity is deleted, its sessions have ended"
		},
		Needed: true,
	},
	{
		Name: "archive", Doors: everywhere, Changes: true, Patience: quick, Args: []Arg{boardNumber, inProfile},
		Help: Help{
			Short: "End the game of a board",
			Long: `Archive ends a game as a draw that pays nobody and changes no rating, for
instance because its position is not fit to be seen. Whoever holds the board is
told, and gets another one. The exit code is 1 if no such game is running.`,
			Example: `  wamble archive 17`,
		},
		Page: Page{"remove", "End the game", "The game of board {board} ends as a draw that pays nobody. Whoever holds it gets another one."},
		Doc:  Doc{`{"board": 17}`, "ends a game as a draw that pays nobody"},
		Log:  "the host ends a game",
		Tell: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Archive{Board: a.Board}
		},
		Count: func(e *Effect) uint64 { return e.After.Archived - e.Before.Archived },
		Said: func(n uint64) string {
			if n == 0 {
				return "no such game is running"
			}
			return "the game has ended"
		},
		Needed: true,
	},
	{
		Name: "dead-letters", Doors: Socket | Console, Patience: quick, Args: []Arg{worker, number, limit},
		Help: Help{Via: "runner dead-letters list"},
		Doc:  Doc{Text: "the first 100 dead letters, without tokens"},
		Do:   listDead,
	},
	{
		Name: "dead-letter-page", Doors: Socket, Patience: quick, Args: []Arg{letter, from, filter},
		Help: Help{Via: "runner dead-letters export"},
		Doc:  Doc{Text: "whole dead letters, with their frames; they hold tokens, so the console does not show them"},
		Do:   pageDead,
	},
	{
		Name: "dead-letter-replay", Doors: Socket | Console, Changes: true, Patience: slow, Args: []Arg{worker, number, filter},
		Help: Help{Via: "runner dead-letters replay"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"worker": 1, "number": 5}`, "puts a dead letter back into its inbox"},
		Do:   replayDead,
	},
	{
		Name: "dead-letter-drop", Doors: Socket | Console, Changes: true, Patience: slow, Args: []Arg{worker, number, filter},
		Help: Help{Via: "runner dead-letters drop"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"worker": 1, "number": 5}`, "deletes a dead letter for ever"},
		Do:   dropDead,
	},
	{
		Name: "runner-stats", Doors: Socket, Patience: quick,
		Help: Help{Via: "runner stat"},
		Doc:  Doc{Text: "what is in the journal; for people the page at `/console/runner/`"},
		Do:   func(_ context.Context, h *Host, _ *Call) (any, error) { return h.journalStats(), nil },
	},
	{
		Name: "runner-inbox", Doors: Socket, Patience: quick, Args: []Arg{worker, from, limit},
		Help: Help{Via: "runner inbox"},
		Doc:  Doc{Text: "whole messages that wait, with their frames; they hold tokens, so the console does not show them"},
		Do:   pageInbox,
	},
	{
		Name: "runner-timers", Doors: Socket, Patience: quick, Args: []Arg{after, limit},
		Help: Help{Via: "runner timers"},
		Doc:  Doc{Text: "the armed timers, the earliest first"},
		Do:   pageTimers,
	},
	{
		Name: "runner-list", Doors: Socket, Patience: quick, Args: []Arg{queueName, listState, from, limit},
		Help: Help{Via: "runner list"},
		Doc:  Doc{Body: `{"queue": "1"}`, Text: "messages of a queue, without tokens"},
		Do:   desk("list"),
	},
	{
		Name: "runner-show", Doors: Socket, Patience: quick, Args: []Arg{queueName, listState, number, messageID},
		Help: Help{Via: "runner show"},
		Doc:  Doc{Body: `{"queue": "1", "id": "i"}`, Text: "a message, without tokens"},
		Do:   desk("show"),
	},
	{
		Name: "runner-checkpoint", Doors: Socket, Patience: slow, Args: []Arg{directory},
		Help: Help{Via: "runner checkpoint"},
		Doc:  Doc{Text: "a copy of the journal in a directory that does not exist yet"},
		Do:   checkpoint,
	},
	{
		Name: "runner-retry", Doors: Socket | Console, Changes: true, Patience: slow, Args: []Arg{queueName, listState, number, messageID, allOf},
		Help: Help{Via: "runner retry"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1", "state": "dead", "number": 5}`, "puts a dead letter back into its queue; with `all` all of them"},
		Do:   desk("retry"),
	},
	{
		Name: "runner-delete", Doors: Socket | Console, Changes: true, Patience: slow, Args: []Arg{queueName, listState, number, messageID, allOf},
		Help: Help{Via: "runner delete"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1", "state": "dead", "number": 5}`, "deletes a dead letter for ever; with `all` all of them"},
		Do:   desk("delete"),
	},
	{
		Name: "runner-pause", Doors: Socket | Console, Changes: true, Patience: quick, Args: []Arg{queueName},
		Help: Help{Via: "runner pause"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1"}`, "nothing more of a queue goes to the database, after a restart too; players play on as while the database is away"},
		Do:   desk("pause"),
	},
	{
		Name: "runner-resume", Doors: Socket | Console, Changes: true, Patience: quick, Args: []Arg{queueName},
		Help: Help{Via: "runner resume"},
		Page: Page{Form: Own},
		Doc:  Doc{`{"queue": "1"}`, "ends a pause"},
		Do:   desk("resume"),
	},
}

func brownoutInput(b profile.Brownout) profile.Input {
	return &profile.SetBrownout{Brownout: b}
}

func banInput(whom profile.Whom, text string, until time.Time) profile.Input {
	return &profile.Ban{Whom: whom, Text: text, Until: until}
}

// handOff lets the server become another image, which answers. From the console only
// the binary of the process may take over, and a request that is sent again, as
// browsers do when a connection ends, is answered without another handoff.
func handOff(ctx context.Context, h *Host, c *Call) (any, error) {
	var a Arguments
	if len(c.Args) > 0 && json.Unmarshal(c.Args, &a) != nil {
		return nil, errors.New("not the arguments of a handoff")
	}
	if c.Conn == nil {
		a.Binary = ""
	}
	if a.DryRun {
		return h.Rehearse(ctx, a.Binary)
	}
	w := Waiter{Key: c.Key}
	if c.Conn != nil {
		w.Conn = c.Conn
	} else if taken, ok := c.Web.(syscall.Conn); ok {
		w.Conn, w.Web = taken, true
	}
	if done := h.Repeated(ctx, c.Key); done != nil {
		return done, nil
	}
	return struct{}{}, h.HandOff(ctx, a.Binary, w)
}

// counted is a number with its noun.
func counted(n uint64, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
