package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"wamble/internal/profile"
)

// named is the help text on how to name players.
const named = `A player is named by name, token, public key (64 hex digits), address, or a network
like 192.0.2.0/24. A ban of a name is one of its key. With - as WHOM the players are read from
standard input, one in a line: other users of the machine can see arguments, and a
token is secret.`

// peopleCommands has the commands about players and their games.
var peopleCommands = []Command{
	{
		Name: "kick", Channels: allChannels, Changes: true, Patience: quick, Args: []Arg{player, reason, inProfile},
		Help: Help{
			Short: "End sessions of players",
			Long: `Kick ends sessions: their boards are free again, and their clients are told.
Who was kicked may come back; 'wamble ban' keeps them out.

` + named,
			Example: `  wamble kick 192.0.2.7 --reason 'too loud'
  wamble kick - < tokens`,
		},
		Page: Page{"players", "Kick", "{whom} is disconnected and loses the board."},
		Doc:  Doc{`{"whom": "192.0.2.7", "text": "why"}`, "a name, a token, a public key, an address or a network"},
		Log:  "players are kicked",
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Kick{Whom: a.player, Text: a.Text}
		},
		Count:   func(e *Effect) uint64 { return e.After.Kicked - e.Before.Kicked },
		Summary: func(_ *Arguments, n uint64) string { return counted(n, "session") + " ended" },
	},
	{
		Name: "ban", Channels: allChannels, Changes: true, Patience: quick,
		Args: []Arg{player, reason, banSpan, inProfile},
		Help: Help{
			Short: "Keep players out",
			Long: `Ban ends sessions and keeps whoever was named out, for a time or until 'wamble
unban'. It holds after a restart too, and without --profile also in profiles that are
added later.

` + named,
			Example: `  wamble ban 192.0.2.0/24 --for 24h --reason 'flooding'
  wamble ban Ann
  wamble ban 2001:db8::7 --profile club`,
		},
		Page: Page{"players", "Ban", "{whom} is disconnected and turned away from now on."},
		Doc: Doc{
			`{"whom": "192.0.2.0/24", "text": "why", "until": "2030-01-01T00:00:00Z"}`, "without `until` for ever",
		},
		Log:     "players are banned",
		Lasting: true,
		Later:   true,
		Persist: func(r *Restricted, a *Arguments, now time.Time) error {
			return r.ban(Ban{Whom: a.Whom, Text: a.Text, Until: a.Until, By: a.by, At: now.UTC()}, now)
		},
		Input:   func(a *Arguments, _ *Restrictions) profile.Input { return banInput(a.player, a.Text, a.Until) },
		Count:   func(e *Effect) uint64 { return e.After.Kicked - e.Before.Kicked },
		Summary: func(_ *Arguments, n uint64) string { return "banned, " + counted(n, "session") + " ended" },
	},
	{
		Name: "unban", Channels: allChannels, Changes: true, Patience: quick, Args: []Arg{player, inProfile},
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
		Persist: func(r *Restricted, a *Arguments, _ time.Time) error { r.unban(a.Whom); return nil },
		Lasting: true,
		Later:   true,
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Unban{Whom: a.player}
		},
		Count:   func(e *Effect) uint64 { return uint64(e.Lifted) },
		Summary: func(_ *Arguments, n uint64) string { return counted(n, "ban") + " lifted" },
		Needed:  true,
	},
	{
		Name: "players", Channels: allChannels, Patience: quick, Args: []Arg{searchText, inProfile},
		Help: Help{
			Short: "Look for players",
			Long: `Players looks for people, with or without an identity, in the memory of the
profiles that run and in their databases. QUERY is a name or part of it, the beginning
of a public key, a token or hash:HEX, an address or network, or the number of a session
or a board. A word before a colon says what it is: name, key, token, address, session or
board.

Addresses are not stored: who is not connected is not found by one. A part of a token
finds nobody, and a search by token is in the audit log. At most ` + fmt.Sprint(peopleShown) + ` are shown.`,
			Example: `  wamble players ann
  wamble players 192.0.2.0/24
  wamble players board:17 --json`,
		},
		Doc: Doc{`{"query": "ann"}`,
			"people whom a name, the beginning of a key, an address or network, or the number of a session or board " +
				"fits, at most 50; with the role operate also by a whole token or its hash; here the argument is in the " +
				"query, `?query=ann`"},
		Line: Line{Result: func() any { return new(people) }, Print: printPeople, JSON: true},
		Do:   findPeople,
	},
	{
		Name: "player", Channels: allChannels, Patience: quick, Args: []Arg{playerOrSession, inProfile},
		Help: Help{
			Short: "Look at a player",
			Long: `Player says what the server knows of somebody: score, rating and rank, former names,
sessions with their trust and where they are connected from, the boards that are held and those
that were moved on last, and the bans that apply.

WHOM is the token of a session or its number, a name or a public key (64 hex digits).
The exit code is 1 if no database has such a player.`,
			Example: `  wamble player Ann
  wamble player 17 --json`,
		},
		Doc: Doc{`{"whom": "h_3b6a27bcceb6"}`,
			"what is known of a player, for each database: sessions, boards, score, rank, bans; here the argument is " +
				"in the query, `?whom=NAME`"},
		Line: Line{Result: func() any { return new([]playerDetails) }, Print: printPlayerDetails, JSON: true},
		Do:   showPlayer,
	},
	{
		Name: "bans", Channels: allChannels, Patience: quick, Args: []Arg{inProfile},
		Help: Help{
			Short: "List who is kept out",
			Long: `Bans lists the bans that hold, the oldest first: whom they keep out of which
profile, until when, why, and who has ordered them when. A token is not kept: its
hash stands for it, and 'wamble unban' takes that, too.`,
			Example: `  wamble bans
  wamble bans --profile club --json`,
		},
		Doc:  Doc{Text: "who is banned where, why, until when, and who has ordered it"},
		Line: Line{Result: func() any { return new([]banned) }, Print: printBans, JSON: true},
		Do:   listBans,
	},
	{
		Name: "trust", Channels: allChannels, Changes: true, Patience: quick,
		Args: []Arg{playerOrSession, trustLevel, inProfile},
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
notice it within a second. Databases hold hashes of tokens; in PostgreSQL:
  UPDATE sessions SET trust_level = 10 WHERE token = token_hash(decode('HEX', 'hex'));`,
			Example: `  wamble trust h_3b6a27bcceb6 10
  wamble trust - 10 < tokens`,
		},
		Page: Page{"trust", "Set trust", "{whom} has trust level {level} from now on."},
		Doc: Doc{`{"whom": "h_3b6a27bcceb6", "level": 10}`,
			"sets the trust level of a session (token or number), or of all sessions of a player (handle or public " +
				"key)"},
		Log:         "the trust in a player is set",
		FindsPlayer: true,
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Trust{Session: a.found.Session, Key: a.found.Key, Level: a.Level}
		},
		Count: func(e *Effect) uint64 { return e.After.Trusted - e.Before.Trusted },
		Summary: func(_ *Arguments, n uint64) string {
			if n == 0 {
				return "no such player"
			}
			return "trusted"
		},
		Needed: true,
	},
	{
		Name: "rename", Channels: allChannels, Changes: true, Patience: quick,
		Args: []Arg{identity, newName, inProfile},
		Help: Help{
			Short: "Give a player another name",
			Long: `Rename gives an identity a name, at once and for good; its player may not choose
another one for a week. The name has 3 to 20 letters, digits, - or _, and nobody else
may have it, without regard to case. Words that players may not choose are allowed.

WHOM is the name or the public key (64 hex digits) of the player. The exit code is 1 if no
database has such a player.`,
			Example: `  wamble rename rude-word Ann`,
		},
		Page: Page{"rename", "Rename", "{whom} is called {name} from now on."},
		Doc: Doc{
			`{"whom": "rude-word", "name": "Ann"}`,
			"gives the identity with a name, or with a public key, another name",
		},
		Log:         "a player has another name",
		FindsPlayer: true,
		Applies: func(ctx context.Context, p *RunningProfile, a *Arguments) error {
			other, err := p.Find(ctx, Named{Handle: a.Name})
			if err != nil {
				return err
			}
			return unless(other.Key.IsZero() || other.Key == a.found.Key, "%q is the name of another player", a.Name)
		},
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Rename{Key: a.found.Key, Name: a.Name}
		},
		Count: func(e *Effect) uint64 { return e.After.Renamed - e.Before.Renamed },
		Summary: func(_ *Arguments, n uint64) string {
			if n == 0 {
				return "no such player"
			}
			return "renamed"
		},
		Needed: true,
	},
	{
		Name: "sessions", Channels: allChannels, Patience: quick, Args: []Arg{publicKey, inProfile},
		Help: Help{
			Short: "List the sessions of a player",
			Long: `Sessions lists the sessions of an identity that can be resumed, as the database
has them: their number, since when, and when they were last seen. Where somebody
plays from is not kept. 'wamble revoke' ends one of them.

KEY is the public key of the player, 64 hex digits, or the name.`,
			Example: `  wamble sessions 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		},
		Doc: Doc{`{"whom": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"}`,
			"the sessions of the identity of a public key, by profile; here the argument is in the query, `?whom=KEY`"},
		Line: Line{Result: func() any { return new([]playerSession) }, Print: printSessions, JSON: true},
		Do:   listSessions,
	},
	{
		Name: "revoke", Channels: allChannels, Changes: true, Patience: quick,
		Args: []Arg{playerOrSession, sessionNumber, inProfile},
		Help: Help{
			Short: "End sessions of a player for good",
			Long: `Revoke ends sessions and voids their tokens, at once and for good, in all profiles
of the database: the one that WHOM names by its token or number; or all sessions of
the player with a name or public key (64 hex digits), or with --session one of them.
Players in one of them are told, and their boards are free. What the identity has won
stays; who has its key can log in again. A guest without a token is somebody new.

'wamble player WHOM' tells the numbers. With - as WHOM they are read from standard
input, one in a line. The exit code is 1 if there is no such session.`,
			Example: `  wamble revoke Ann
  wamble revoke 17
  wamble revoke 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29 --session 17`,
		},
		Page: Page{Form: Own},
		Doc: Doc{`{"whom": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29", "session": 17}`,
			"ends a session of a player (name or public key) for good, without `session` all; or the session with a " +
				"token or number"},
		Log:         "sessions of a player are revoked",
		FindsPlayer: true,
		Applies:     func(ctx context.Context, p *RunningProfile, a *Arguments) error { p.lookUp(ctx, a); return nil },
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Revoke{Key: a.found.Key, Session: cmp.Or(a.found.Session, a.Session), Stored: a.stored}
		},
		Count:   func(e *Effect) uint64 { return e.After.Revoked - e.Before.Revoked },
		Summary: func(_ *Arguments, n uint64) string { return counted(n, "session") + " ended" },
		Needed:  true,
	},
	{
		Name: "merge", Channels: allChannels, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{identity, mergeInto},
		Help: Help{
			Short: "Make one player of two",
			Long: `Merge makes one player of two who are the same person: INTO stays, with the
sessions, points and games of both and a rating between theirs, weighed by games. Who
plays in a session of the other one goes on as INTO, and its key logs in as INTO from
now on. The other name is free. It cannot be undone.

Both are named by name or public key (64 hex digits), in all databases that have them.
The exit code is 1 if none has.`,
			Example: `  wamble merge Ann-on-the-phone Ann`,
		},
		Page: Page{
			"merge", "Merge players",
			"{whom} is {into} from now on: sessions, points, games and key. This cannot be undone.",
		},
		Doc: Doc{`{"whom": "Ann-2", "into": "Ann-1"}`, "makes one player of two, by name or public key"},
		Line: Line{Result: func() any { return new(Counts) }, Print: func(w io.Writer, _ any) error {
			_, err := fmt.Fprintln(w, "merged")
			return err
		}},
		Do: mergePlayers,
	},
	{
		Name: "erase", Channels: allChannels, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{publicKey, inProfile},
		Help: Help{
			Short: "Delete a player's data",
			Long: `Erase deletes what belongs to an identity: its public key, its handle, its
rating, the tokens of its sessions, its predictions, and its acceptances of terms.
Whoever plays in one of its sessions is told, and disconnected. The games stay, as
games of nobody. It cannot be undone; who logs in with the key again is somebody new.

KEY is the public key of the player, 64 hex digits, or the name. Do it in every profile that
has a database of its own; without --profile that is all of them. The exit code is
1 if none has such an identity.`,
			Example: `  wamble erase 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		},
		Page: Page{"remove", "Erase the player",
			"The identity {whom} is deleted, with its handle, rating, sessions and predictions. Its games stay, as " +
				"games of nobody. This cannot be undone."},
		Doc: Doc{
			`{"whom": "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"}`,
			"deletes what belongs to the identity of a public key",
		},
		Log: "a player's data is deleted",
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Erase{Key: a.player.Key, Sessions: numbersOf(a.stored), Player: a.id}
		},
		Count: func(e *Effect) uint64 {
			if e.Stored || e.After.Erased > e.Before.Erased {
				return 1
			}
			return 0
		},
		Summary: func(_ *Arguments, n uint64) string {
			if n == 0 {
				return "no such identity"
			}
			return "the identity is deleted, its sessions have ended"
		},
		Needed: true,
	},
	{
		Name: "archive", Channels: allChannels, Changes: true, Patience: quick, Args: []Arg{boardNumber, inProfile},
		Help: Help{
			Short: "End the game of a board",
			Long: `Archive ends a game as a draw that pays nobody and changes no rating, for
instance because its position is not fit to be seen. Whoever holds the board is
told, and gets another one. The exit code is 1 if no such game is running.`,
			Example: `  wamble archive 17`,
		},
		Page: Page{
			"remove", "End the game",
			"The game of board {board} ends as a draw that pays nobody. Whoever holds it gets another one.",
		},
		Doc: Doc{`{"board": 17}`, "ends a game as a draw that pays nobody"},
		Log: "the host ends a game",
		Input: func(a *Arguments, _ *Restrictions) profile.Input {
			return &profile.Archive{Board: a.Board}
		},
		Count: func(e *Effect) uint64 { return e.After.Archived - e.Before.Archived },
		Summary: func(_ *Arguments, n uint64) string {
			if n == 0 {
				return "no such game is running"
			}
			return "the game has ended"
		},
		Needed: true,
	},
}

func banInput(whom profile.Target, text string, until time.Time) profile.Input {
	return &profile.Ban{Whom: whom, Text: text, Until: until}
}
