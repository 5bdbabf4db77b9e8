package host

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"wamble"
	"wamble/internal/profile"
	"wamble/wire"
)

// Arguments are the values of a command, as the control socket and the console
// take them. Only those count that the row of the command names.
type Arguments struct {
	Profile  string           `json:"profile,omitempty"` // "": all
	Text     string           `json:"text,omitempty"`    // for the players
	Whom     string           `json:"whom,omitempty"`    // a token, a key in hex, an address or a network
	Until    time.Time        `json:"until,omitzero"`    // of a ban, zero: for ever; of an announcement, zero: it is said once
	Brownout profile.Brownout `json:"brownout,omitzero"`
	Board    wamble.BoardID   `json:"board,omitempty"`
	Session  wamble.SessionID `json:"session,omitempty"` // of a player; 0: all
	Urgent   bool             `json:"urgent,omitempty"`  // an announcement of maintenance
	// Countdown says that something happens at the end of an announcement, Clear that
	// all are withdrawn.
	Countdown bool   `json:"countdown,omitempty"`
	Clear     bool   `json:"clear,omitempty"`
	On        bool   `json:"on,omitempty"`
	Level     int    `json:"level,omitempty"`  // of trust
	Name      string `json:"name,omitempty"`   // of a player
	Binary    string `json:"binary,omitempty"` // of the next image; "": that of the process
	DryRun    bool   `json:"dry_run,omitempty"`
	Role      string `json:"role,omitempty"`  // of a token
	Query     string `json:"query,omitempty"` // whom or which boards to look for
	Range     string `json:"range,omitempty"` // of a chart
	Into      string `json:"into,omitempty"`  // a player

	wait time.Duration // of the command line alone
	// cluster asks for all machines, on the command line alone.
	cluster bool
	player  profile.Whom               // what Whom says
	stored  []wamble.Session           // of the player, in the profile that is told
	id      wamble.PlayerID            // his number in its store, 0 if it is not known
	ids     map[string]wamble.PlayerID // that, by database
	named   Named                      // what Whom says, for a command that finds somebody
	into    Named                      // what Into says
	found   Found                      // who that is, in the profile that is told
	lifted  int                        // bans, or announcements, in all profiles
	by      string                     // who gave the command
	at      time.Time                  // when
	boards  profile.BoardQuery
}

// Kind is what an argument is: how a flag or a field of a form takes it.
type Kind string

// The closed list of kinds.
const (
	Text    Kind = "text"
	Number  Kind = "number"
	Switch  Kind = "switch"  // on or off
	Span    Kind = "span"    // a time from now on; in JSON its end
	Profile Kind = "profile" // one that runs
	Object  Kind = "object"  // of JSON, which no form and no flag takes
)

// Arg describes one argument.
type Arg struct {
	Name   string // in JSON; "": of the command line alone
	Kind   Kind
	Label  string // of its field in a form
	Max    int    // characters of its field; 0: no bound
	Word   string // its place among the words of a command line, as its use shows it
	What   string // what is missing without it
	Choice []string
	// Names says that a name may stand in the place of a public key.
	Names bool
	// Optional says that its word may be left out.
	Optional bool
	Lines    bool   // "-" as its word takes it from the lines of standard input, a command for each
	Flag     string // instead of Word
	Letter   string // of the flag, in short
	Help     string // of the flag

	// At points to its value.
	At func(a *Arguments) any
	// Parse reads the words of a command line, or the one of the flag; nil: they are
	// the value as it is.
	Parse func(a *Arguments, words []string) error
	// Check says what is wrong with the value that came, at the server; nil: nothing.
	Check func(a *Arguments) error
	// Hide returns what the audit log and the log tell of a secret text instead; nil: it
	// is not secret.
	Hide func(text string) string
}

// Many reports whether an argument takes several words.
func (a *Arg) Many() bool { return strings.HasSuffix(a.Word, "...") }

// IsBool reports whether a flag of the argument takes no value.
func (a *Arg) IsBool() bool {
	_, is := a.At(&Arguments{}).(*bool)
	return is
}

// read takes the words of a command line.
func (a *Arg) read(to *Arguments, words []string) (err error) {
	if a.Parse != nil {
		return a.Parse(to, words)
	}
	switch value := a.At(to).(type) {
	case *string:
		*value = strings.Join(words, " ")
	case *bool:
		*value, err = strconv.ParseBool(words[0])
	case *time.Duration:
		*value, err = time.ParseDuration(words[0])
	}
	return err
}

// The arguments that several commands have.
var (
	inProfile = Arg{
		Name: "profile", Kind: Profile, Label: "Profile", Flag: "profile", Letter: "p", Help: "only this `profile` (default all that run)",
		At: func(a *Arguments) any { return &a.Profile },
	}
	reason = Arg{
		Name: "text", Kind: Text, Label: "Reason", Max: wire.TextLimit, Flag: "reason", Help: "a `text` that they are told",
		At:    func(a *Arguments) any { return &a.Text },
		Check: fits,
	}
	player = Arg{
		Name: "whom", Kind: Text, Label: "Name, token, public key, address or network", Word: "WHOM", What: "the player", Lines: true, Names: true,
		At:    func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) (err error) { a.player, err = parsePlayer(a.Whom); return err },
		Hide:  hidePlayer,
	}
)

// The arguments of single commands.
var (
	announcement = Arg{
		Name: "text", Kind: Text, Label: "To all players", Max: wire.TextLimit, Word: "TEXT...", What: "a text", Optional: true,
		At: func(a *Arguments) any { return &a.Text },
		Check: func(a *Arguments) error {
			if a.Text == "" && !a.Clear {
				return errors.New("an announcement needs a text")
			}
			return fits(a)
		},
	}
	staySpan = Arg{
		Name: "until", Kind: Span, Label: "Stays for hours (empty: it is said once)", Flag: "for", Help: "it stays so long (default: it is said once)",
		At:    func(a *Arguments) any { return &a.Until },
		Parse: banSpan.Parse,
		Check: func(a *Arguments) error {
			return errors.Join(unless(a.Until.IsZero() || time.Until(a.Until) > 0, "the time of the announcement is over"),
				unless(!a.Until.IsZero() || !a.Countdown, "a countdown needs a time: --for or --until"))
		},
	}
	stayUntil = Arg{
		Kind: Object, Flag: "until", Help: "it stays until a `time`, like 2030-01-01T12:00:00Z, or 12:00 of this machine's clock",
		At: func(a *Arguments) any { return &a.Until },
		Parse: func(a *Arguments, words []string) (err error) {
			a.Until, err = parseUntil(words[0], time.Now())
			return err
		},
	}
	countdown = Arg{
		Name: "countdown", Kind: Switch, Label: "count down to its end", Flag: "countdown", Help: "show how long it is until then, as for maintenance",
		At: func(a *Arguments) any { return &a.Countdown },
	}
	withdraw = Arg{
		Name: "clear", Kind: Object, Flag: "clear", Help: "withdraw the announcements that stay",
		At: func(a *Arguments) any { return &a.Clear },
	}
	maintenance = Arg{
		Name: "urgent", Kind: Switch, Label: "as maintenance", Flag: "maintenance", Help: "mark it as a notice of maintenance",
		At: func(a *Arguments) any { return &a.Urgent },
	}
	banSpan = Arg{
		Name: "until", Kind: Span, Label: "Ban for hours (empty: for ever)", Flag: "for", Help: "how long (default for ever)",
		At: func(a *Arguments) any { return &a.Until },
		Parse: func(a *Arguments, words []string) error {
			span, err := time.ParseDuration(words[0])
			if span > 0 {
				a.Until = time.Now().Add(span)
			}
			return unless(err == nil && span >= 0, "--for takes a time from now on")
		},
	}
	publicKey = Arg{
		Name: "whom", Kind: Text, Label: "Name or public key of a player", Max: 64, Word: "KEY", What: "the public key", Names: true,
		At: func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) (err error) {
			a.player, err = parsePlayer(a.Whom)
			return unless(err == nil && !a.player.Key.IsZero(), "name the player by his name or his public key (64 hex digits)")
		},
		Hide: hidePlayer,
	}
	somebody = Arg{
		Name: "whom", Kind: Text, Label: "Token, handle, public key or number of a session", Word: "WHOM", What: "the player", Lines: true,
		At:    func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) (err error) { a.named, err = parseNamed(a.Whom); return err },
		Hide:  hideNamed,
	}
	searchText = Arg{
		Name: "query", Kind: Text, Label: "Name, key, token, address, session or board", Max: 80, Word: "QUERY", What: "whom to look for",
		At:    func(a *Arguments) any { return &a.Query },
		Check: func(a *Arguments) error { _, err := parseSearch(a.Query); return err },
		Hide:  func(string) string { return "(a search)" },
	}
	identity = Arg{
		Name: "whom", Kind: Text, Label: "Name or public key", Word: "WHOM", What: "the player",
		At: func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) error {
			a.named = parseIdentity(a.Whom)
			return unless(a.named != Named{}, "name a player by his name or his public key (64 hex digits)")
		},
		Hide: hideNamed,
	}
	intoWhom = Arg{
		Name: "into", Kind: Text, Label: "Name or public key of who stays", Word: "INTO", What: "who stays",
		At: func(a *Arguments) any { return &a.Into },
		Check: func(a *Arguments) error {
			a.into = parseIdentity(a.Into)
			return unless(a.into != Named{}, "name who stays by his name or his public key (64 hex digits)")
		},
		Hide: hideNamed,
	}
	newName = Arg{
		Name: "name", Kind: Text, Label: "New name", Max: wamble.MaxName, Word: "NAME", What: "the new name",
		At: func(a *Arguments) any { return &a.Name },
		Check: func(a *Arguments) error {
			return unless(wamble.IsName(a.Name) && len(a.Name) <= wamble.MaxName, "a name has 3 to 20 letters, digits, - or _")
		},
	}
	trustLevel = Arg{
		Name: "level", Kind: Number, Label: "Trust level", Word: "LEVEL", What: "the trust level",
		At: func(a *Arguments) any { return &a.Level },
		Parse: func(a *Arguments, words []string) error {
			level, err := strconv.ParseInt(words[0], 10, 32)
			a.Level = int(level)
			return unless(err == nil, "%q is not a trust level", words[0])
		},
		Check: func(a *Arguments) error {
			return unless(a.Level >= 0 && a.Level <= math.MaxInt32, "a trust level is a number from 0 to %d", math.MaxInt32)
		},
	}
	sessionNumber = Arg{
		Name: "session", Kind: Number, Label: "Session, by its number (empty: all)", Flag: "session", Help: "only the session with this `number` (default all)",
		At: func(a *Arguments) any { return &a.Session },
		Parse: func(a *Arguments, words []string) error {
			id, err := strconv.ParseInt(words[0], 10, 64)
			a.Session = wamble.SessionID(id)
			return unless(err == nil && id > 0, "%q is not the number of a session", words[0])
		},
		Check: func(a *Arguments) error { return unless(a.Session >= 0, "there is no session %d", a.Session) },
	}
	boardNumber = Arg{
		Name: "board", Kind: Number, Label: "Board, by its number", Word: "BOARD", What: "the number of the board",
		At: func(a *Arguments) any { return &a.Board },
		Parse: func(a *Arguments, words []string) error {
			id, err := strconv.ParseUint(words[0], 10, 63)
			a.Board = wamble.BoardID(id)
			return unless(err == nil && id != 0, "%q is not the number of a board", words[0])
		},
		Check: func(a *Arguments) error { return unless(a.Board != 0, "name a board by its number") },
	}
	onOff = Arg{
		Name: "on", Kind: Switch, Word: "on|off", What: "on or off", Choice: []string{"on", "off"},
		At: func(a *Arguments) any { return &a.On },
		Parse: func(a *Arguments, words []string) error {
			a.On = words[0] == "on"
			return unless(a.On || words[0] == "off", "draining is on or off, not %q", words[0])
		},
	}
	switches = Arg{
		Name: "brownout", Kind: Object, Word: "off|SWITCH...", What: "off, or a switch", Choice: append(switchWords(), "off"),
		At: func(a *Arguments) any { return &a.Brownout },
		Parse: func(a *Arguments, words []string) (err error) {
			if len(words) != 1 || words[0] != "off" {
				a.Brownout, err = parseBrownout(words)
			}
			return err
		},
	}
	binary = Arg{
		Name: "binary", Kind: Object, Flag: "binary", Help: "the `file` to become (default that of the running process)",
		At: func(a *Arguments) any { return &a.Binary },
		Parse: func(a *Arguments, words []string) (err error) {
			if words[0] != "" {
				a.Binary, err = filepath.Abs(words[0])
			}
			return err
		},
	}
	dryRun = Arg{
		Name: "dry_run", Kind: Switch, Label: "only check", Flag: "dry-run", Help: "only say what would happen, or why it would fail",
		At: func(a *Arguments) any { return &a.DryRun },
	}
	waiting = Arg{
		Kind: Span, Flag: "wait", Help: "wait this long until players are served",
		At: func(a *Arguments) any { return &a.wait },
	}
	allMachines = Arg{
		Kind: Switch, Flag: "cluster", Help: "a line for each machine that shares the world",
		At: func(a *Arguments) any { return &a.cluster },
	}
)

// parseUntil reads a time: of a day, or the next one of this machine's clock.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation("2006-01-02 15:04", text, now.Location()); err == nil {
		return t, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return t, fmt.Errorf("%q is no time: 2030-01-01T12:00:00Z, \"2030-01-01 12:00\" or 12:00", text)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

// fits returns an error if players would not read the whole text.
func fits(a *Arguments) error {
	return unless(len(a.Text) <= wire.TextLimit, "the text has %d bytes; players read at most %d (letters beyond ASCII are 2 to 4 bytes)", len(a.Text), wire.TextLimit)
}

// unless returns an error unless a value is good.
func unless(good bool, format string, args ...any) error {
	if good {
		return nil
	}
	return fmt.Errorf(format, args...)
}
