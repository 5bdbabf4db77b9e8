package admin

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

// Arguments has the values of a command's arguments, as the control socket and the console
// receive them. Fields that the command's row does not name are ignored.
type Arguments struct {
	Profile  string           `json:"profile,omitempty"` // "" for all
	Text     string           `json:"text,omitempty"`    // for the players
	Whom     string           `json:"whom,omitempty"`    // a name, a token, a key in hex, an address or a network
	Until    time.Time        `json:"until,omitzero"`    // zero: a ban is for ever, an announcement sent once
	Brownout profile.Brownout `json:"brownout,omitzero"`
	Board    wamble.BoardID   `json:"board,omitempty"`
	Session  wamble.SessionID `json:"session,omitempty"` // of a player; 0 for all
	Urgent   bool             `json:"urgent,omitempty"`  // the announcement is a notice of maintenance
	// Countdown says that clients count down to the end of an announcement. Clear says that
	// all announcements are withdrawn.
	Countdown bool   `json:"countdown,omitempty"`
	Clear     bool   `json:"clear,omitempty"`
	On        bool   `json:"on,omitempty"`
	Level     int    `json:"level,omitempty"`  // of trust
	Name      string `json:"name,omitempty"`   // of a player
	Binary    string `json:"binary,omitempty"` // to execute in a handoff; "" for that of the process
	DryRun    bool   `json:"dry_run,omitempty"`
	Role      string `json:"role,omitempty"`  // of a token
	Query     string `json:"query,omitempty"` // the players or boards to look for
	Range     string `json:"range,omitempty"` // of a chart
	Into      string `json:"into,omitempty"`  // the player into whom another is merged

	wait time.Duration // --wait; used only on the command line
	// cluster asks for all nodes; used only on the command line.
	cluster bool
	player  profile.Target             // parsed from Whom
	stored  []wamble.Session           // of the player, in the current profile's store
	id      wamble.PlayerID            // of the player in the current profile's store; 0 if not known
	ids     map[string]wamble.PlayerID // of the player, by database
	named   Named                      // parsed from Whom, for a command with FindsPlayer
	into    Named                      // parsed from Into
	found   Found                      // the player of named in the current profile
	lifted  int                        // number of bans lifted, or announcements withdrawn, of all profiles
	by      string                     // who gave the command
	boards  profile.BoardQuery         // parsed from Query
	search  search                     // parsed from Query, for the command players
}

// Kind is the type of an argument in flags and forms.
type Kind string

// The closed list of kinds.
const (
	Text    Kind = "text"
	Number  Kind = "number"
	Switch  Kind = "switch"  // on or off
	Span    Kind = "span"    // a duration from now on; in JSON the time of its end
	Profile Kind = "profile" // a running profile
	Object  Kind = "object"  // of JSON; not offered in forms
)

// Arg describes one argument.
type Arg struct {
	Name    string // in JSON; "" if it is used only on the command line
	Kind    Kind
	Label   string // of its field in a form
	Max     int    // most characters of its field; 0 for no bound
	Word    string // placeholder among the words of a command line; "" if it is a flag
	Missing string // noun for the error that it is missing
	Choice  []string
	// Names says that a player's name is accepted in place of a public key.
	Names bool
	// Optional says that its word may be left out.
	Optional bool
	Lines    bool   // the word "-" reads values from standard input, one command per line
	Flag     string // name of its flag, if Word is ""
	Short    string // short form of the flag
	Help     string // of the flag

	// At returns a pointer to its value.
	At func(a *Arguments) any
	// Parse reads the words of a command line, or the flag's value. If it is nil, the value
	// is read by the type of At.
	Parse func(a *Arguments, words []string) error
	// Check is called by the server to validate and parse the value; it may be nil.
	Check func(a *Arguments) error
	// Token reports whether the checked value is a player's token, or may be one. A command
	// that only reads then needs the role Operate, and is recorded in the audit log, so that
	// nobody tries tokens unseen. It may be nil.
	Token func(a *Arguments) bool
	// Hide returns what the logs show in place of a secret value; nil if it is not secret.
	Hide func(text string) string
}

// Many reports whether an argument takes several words.
func (a *Arg) Many() bool { return strings.HasSuffix(a.Word, "...") }

// IsBool reports whether the argument's flag takes no value.
func (a *Arg) IsBool() bool {
	_, is := a.At(&Arguments{}).(*bool)
	return is
}

// read sets the argument from words of a command line.
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
		Name: "profile", Kind: Profile, Label: "Profile", Flag: "profile", Short: "p",
		Help: "only this `profile` (default all that run)",
		At:   func(a *Arguments) any { return &a.Profile },
	}
	reason = Arg{
		Name: "text", Kind: Text, Label: "Reason", Max: wire.TextLimit, Flag: "reason",
		Help:  "a `text` that they are told",
		At:    func(a *Arguments) any { return &a.Text },
		Check: fits,
	}
	player = Arg{
		Name: "whom", Kind: Text, Label: "Name, token, public key, address or network", Word: "WHOM",
		Missing: "the player", Lines: true, Names: true,
		At:    func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) (err error) { a.player, err = parsePlayer(a.Whom); return err },
		Hide:  hidePlayer,
	}
)

// The arguments of single commands.
var (
	announcement = Arg{
		Name: "text", Kind: Text, Label: "To all players", Max: wire.TextLimit, Word: "TEXT...", Missing: "a text",
		Optional: true,
		At:       func(a *Arguments) any { return &a.Text },
		Check: func(a *Arguments) error {
			if a.Text == "" && !a.Clear {
				return errors.New("an announcement needs a text")
			}
			return fits(a)
		},
	}
	staySpan = Arg{
		Name: "until", Kind: Span, Label: "Stays for hours (empty: it is said once)", Flag: "for",
		Help:  "it stays so long (default: it is said once)",
		At:    func(a *Arguments) any { return &a.Until },
		Parse: banSpan.Parse,
		Check: func(a *Arguments) error {
			return errors.Join(
				unless(a.Until.IsZero() || time.Until(a.Until) > 0, "the time of the announcement is over"),
				unless(!a.Until.IsZero() || !a.Countdown, "a countdown needs a time: --for or --until"))
		},
	}
	stayUntil = Arg{
		Kind: Object, Flag: "until",
		Help: "it stays until a `time`, like 2030-01-01T12:00:00Z, or 12:00 of this machine's clock",
		At:   func(a *Arguments) any { return &a.Until },
		Parse: func(a *Arguments, words []string) (err error) {
			a.Until, err = parseUntil(words[0], time.Now())
			return err
		},
	}
	countdown = Arg{
		Name: "countdown", Kind: Switch, Label: "count down to its end", Flag: "countdown",
		Help: "show how long it is until then, as for maintenance",
		At:   func(a *Arguments) any { return &a.Countdown },
	}
	withdrawAll = Arg{
		Name: "clear", Kind: Object, Flag: "clear", Help: "withdraw the announcements that stay",
		At: func(a *Arguments) any { return &a.Clear },
	}
	maintenance = Arg{
		Name: "urgent", Kind: Switch, Label: "as maintenance", Flag: "maintenance",
		Help: "mark it as a notice of maintenance",
		At:   func(a *Arguments) any { return &a.Urgent },
	}
	banSpan = Arg{
		Name: "until", Kind: Span, Label: "Ban for hours (empty: for ever)", Flag: "for",
		Help: "how long (default for ever)",
		At:   func(a *Arguments) any { return &a.Until },
		Parse: func(a *Arguments, words []string) error {
			span, err := time.ParseDuration(words[0])
			if span > 0 {
				a.Until = time.Now().Add(span)
			}
			return unless(err == nil && span >= 0, "--for takes a time from now on")
		},
	}
	publicKey = Arg{
		Name: "whom", Kind: Text, Label: "Name or public key of a player", Max: 64, Word: "KEY",
		Missing: "the public key", Names: true,
		At: func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) (err error) {
			a.player, err = parsePlayer(a.Whom)
			return unless(err == nil && !a.player.Key.IsZero(), "name the player by name or public key (64 hex digits)")
		},
		Hide: hidePlayer,
	}
	playerOrSession = Arg{
		Name: "whom", Kind: Text, Label: "Token, handle, public key or number of a session", Word: "WHOM",
		Missing: "the player", Lines: true,
		At:    func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) (err error) { a.named, err = parseNamed(a.Whom); return err },
		Token: func(a *Arguments) bool { return !a.named.Token.IsZero() },
		Hide:  hideNamed,
	}
	searchText = Arg{
		Name: "query", Kind: Text, Label: "Name, key, token, address, session or board", Max: 80, Word: "QUERY",
		Missing: "whom to look for",
		At:      func(a *Arguments) any { return &a.Query },
		Check:   func(a *Arguments) (err error) { a.search, err = parseSearch(a.Query); return err },
		Token:   func(a *Arguments) bool { return a.search.hasToken() },
		Hide:    func(string) string { return "(a token)" },
	}
	identity = Arg{
		Name: "whom", Kind: Text, Label: "Name or public key", Word: "WHOM", Missing: "the player",
		At: func(a *Arguments) any { return &a.Whom },
		Check: func(a *Arguments) error {
			a.named = parseIdentity(a.Whom)
			return unless(a.named != Named{}, "name a player by name or public key (64 hex digits)")
		},
		Hide: hideNamed,
	}
	mergeInto = Arg{
		Name: "into", Kind: Text, Label: "Name or public key of who stays", Word: "INTO", Missing: "who stays",
		At: func(a *Arguments) any { return &a.Into },
		Check: func(a *Arguments) error {
			a.into = parseIdentity(a.Into)
			return unless(a.into != Named{}, "name who stays by name or public key (64 hex digits)")
		},
		Hide: hideNamed,
	}
	newName = Arg{
		Name: "name", Kind: Text, Label: "New name", Max: wamble.MaxName, Word: "NAME", Missing: "the new name",
		At: func(a *Arguments) any { return &a.Name },
		Check: func(a *Arguments) error {
			return unless(wamble.IsName(a.Name) && len(a.Name) <= wamble.MaxName,
				"a name has 3 to 20 letters, digits, - or _")
		},
	}
	trustLevel = Arg{
		Name: "level", Kind: Number, Label: "Trust level", Word: "LEVEL", Missing: "the trust level",
		At: func(a *Arguments) any { return &a.Level },
		Parse: func(a *Arguments, words []string) error {
			level, err := strconv.ParseInt(words[0], 10, 32)
			a.Level = int(level)
			return unless(err == nil, "%q is not a trust level", words[0])
		},
		Check: func(a *Arguments) error {
			return unless(a.Level >= 0 && a.Level <= math.MaxInt32, "a trust level is a number from 0 to %d",
				math.MaxInt32)
		},
	}
	sessionNumber = Arg{
		Name: "session", Kind: Number, Label: "Session, by its number (empty: all)", Flag: "session",
		Help: "only the session with this `number` (default all)",
		At:   func(a *Arguments) any { return &a.Session },
		Parse: func(a *Arguments, words []string) error {
			id, err := strconv.ParseInt(words[0], 10, 64)
			a.Session = wamble.SessionID(id)
			return unless(err == nil && id > 0, "%q is not the number of a session", words[0])
		},
		Check: func(a *Arguments) error { return unless(a.Session >= 0, "there is no session %d", a.Session) },
	}
	boardNumber = Arg{
		Name: "board", Kind: Number, Label: "Board, by its number", Word: "BOARD", Missing: "the number of the board",
		At: func(a *Arguments) any { return &a.Board },
		Parse: func(a *Arguments, words []string) error {
			id, err := strconv.ParseUint(words[0], 10, 63)
			a.Board = wamble.BoardID(id)
			return unless(err == nil && id != 0, "%q is not the number of a board", words[0])
		},
		Check: func(a *Arguments) error { return unless(a.Board != 0, "name a board by its number") },
	}
	onOff = Arg{
		Name: "on", Kind: Switch, Word: "on|off", Missing: "on or off", Choice: []string{"on", "off"},
		At: func(a *Arguments) any { return &a.On },
		Parse: func(a *Arguments, words []string) error {
			a.On = words[0] == "on"
			return unless(a.On || words[0] == "off", "draining is on or off, not %q", words[0])
		},
	}
	switches = Arg{
		Name: "brownout", Kind: Object, Word: "off|SWITCH...", Missing: "off, or a switch",
		Choice: append(switchWords(), "off"),
		At:     func(a *Arguments) any { return &a.Brownout },
		Parse: func(a *Arguments, words []string) (err error) {
			if len(words) != 1 || words[0] != "off" {
				a.Brownout, err = parseBrownout(words)
			}
			return err
		},
	}
	binary = Arg{
		Name: "binary", Kind: Object, Flag: "binary",
		Help: "the `file` to become (default that of the running process)",
		At:   func(a *Arguments) any { return &a.Binary },
		Parse: func(a *Arguments, words []string) (err error) {
			if words[0] != "" {
				a.Binary, err = filepath.Abs(words[0])
			}
			return err
		},
	}
	dryRun = Arg{
		Name: "dry_run", Kind: Switch, Label: "only check", Flag: "dry-run",
		Help: "only say what would happen, or why it would fail",
		At:   func(a *Arguments) any { return &a.DryRun },
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

// parseUntil parses a date with a time, or a time of day, which is the next one in this
// machine's time zone.
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

// fits returns an error if a text is too long for players' clients.
func fits(a *Arguments) error {
	return unless(len(a.Text) <= wire.TextLimit,
		"the text has %d bytes; players read at most %d (letters beyond ASCII are 2 to 4 bytes)", len(a.Text),
		wire.TextLimit)
}

// unless returns nil if good is true, otherwise an error with a text.
func unless(good bool, format string, args ...any) error {
	if good {
		return nil
	}
	return fmt.Errorf(format, args...)
}
