package host

import (
	"errors"
	"fmt"
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
	Until    time.Time        `json:"until,omitzero"`    // of a ban; zero: for ever
	Brownout profile.Brownout `json:"brownout,omitzero"`
	Board    wamble.BoardID   `json:"board,omitempty"`
	Urgent   bool             `json:"urgent,omitempty"` // an announcement of maintenance
	On       bool             `json:"on,omitempty"`
	Binary   string           `json:"binary,omitempty"` // of the next image; "": that of the process

	wait   time.Duration // of the command line alone
	player profile.Whom  // what Whom says
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
	Flag   string // instead of Word
	Letter string // of the flag, in short
	Help   string // of the flag

	// Parse reads the words of a command line, or the one of the flag.
	Parse func(a *Arguments, words []string) error
	// Check says what is wrong with the value that came, at the server.
	Check func(a *Arguments) error
	// Value is what the log tells of it; nil: it is secret, or nothing.
	Value func(a *Arguments) any
	// Hide returns what the audit log tells of a text instead; nil: the text itself.
	Hide func(text string) string
}

// Many reports whether an argument takes several words.
func (a *Arg) Many() bool { return strings.HasSuffix(a.Word, "...") }

// The arguments that several commands have.
var (
	inProfile = Arg{
		Name: "profile", Kind: Profile, Label: "Profile", Flag: "profile", Letter: "p", Help: "only this `profile` (default all that run)",
		Parse: func(a *Arguments, words []string) error { a.Profile = words[0]; return nil },
		Value: func(a *Arguments) any { return a.Profile },
	}
	reason = Arg{
		Name: "text", Kind: Text, Label: "Reason", Max: wire.TextLimit, Flag: "reason", Help: "a `text` that they are told",
		Parse: func(a *Arguments, words []string) error { a.Text = words[0]; return nil },
		Value: func(a *Arguments) any { return a.Text },
	}
	player = Arg{
		Name: "whom", Kind: Text, Label: "Token, public key, address or network", Word: "WHOM", What: "the player",
		Parse: func(a *Arguments, words []string) error { a.Whom = words[0]; return nil },
		Check: func(a *Arguments) (err error) { a.player, err = parsePlayer(a.Whom); return err },
		Hide:  hidePlayer,
	}
)

// The arguments of single commands.
var (
	announcement = Arg{
		Name: "text", Kind: Text, Label: "To all players", Max: wire.TextLimit, Word: "TEXT...", What: "a text",
		Parse: func(a *Arguments, words []string) error { a.Text = strings.Join(words, " "); return nil },
		Check: func(a *Arguments) error {
			if a.Text == "" {
				return errors.New("an announcement needs a text")
			}
			return nil
		},
		Value: func(a *Arguments) any { return a.Text },
	}
	maintenance = Arg{
		Name: "urgent", Kind: Switch, Label: "as maintenance", Flag: "maintenance", Help: "mark it as a notice of maintenance",
		Parse: func(a *Arguments, words []string) (err error) {
			a.Urgent, err = strconv.ParseBool(words[0])
			return err
		},
		Value: func(a *Arguments) any { return a.Urgent },
	}
	banSpan = Arg{
		Name: "until", Kind: Span, Label: "Ban for hours (empty: for ever)", Flag: "for", Help: "how long (default for ever)",
		Parse: func(a *Arguments, words []string) error {
			span, err := time.ParseDuration(words[0])
			if err != nil || span < 0 {
				return errors.New("--for takes a time from now on")
			}
			if span > 0 {
				a.Until = time.Now().Add(span)
			}
			return nil
		},
		Value: func(a *Arguments) any { return a.Until },
	}
	publicKey = Arg{
		Name: "whom", Kind: Text, Label: "Public key of a player, 64 hex digits", Max: 64, Word: "KEY", What: "the public key",
		Parse: player.Parse,
		Check: func(a *Arguments) (err error) {
			if a.player, err = parsePlayer(a.Whom); err != nil || a.player.Key.IsZero() {
				return errors.New("name the player by his public key (64 hex digits)")
			}
			return nil
		},
		Hide: hidePlayer,
	}
	boardNumber = Arg{
		Name: "board", Kind: Number, Label: "Board, by its number", Word: "BOARD", What: "the number of the board",
		Parse: func(a *Arguments, words []string) error {
			id, err := strconv.ParseUint(words[0], 10, 63)
			if err != nil || id == 0 {
				return fmt.Errorf("%q is not the number of a board", words[0])
			}
			a.Board = wamble.BoardID(id)
			return nil
		},
		Check: func(a *Arguments) error {
			if a.Board == 0 {
				return errors.New("name a board by its number")
			}
			return nil
		},
		Value: func(a *Arguments) any { return a.Board },
	}
	onOff = Arg{
		Name: "on", Kind: Switch, Label: "No new players", Word: "on|off", What: "on or off", Choice: []string{"on", "off"},
		Parse: func(a *Arguments, words []string) error {
			if words[0] != "on" && words[0] != "off" {
				return fmt.Errorf("draining is on or off, not %q", words[0])
			}
			a.On = words[0] == "on"
			return nil
		},
		Value: func(a *Arguments) any { return a.On },
	}
	switches = Arg{
		Name: "brownout", Kind: Object, Label: "Switches", Word: "off|SWITCH...", What: "off, or a switch", Choice: append(switchWords(), "off"),
		Parse: func(a *Arguments, words []string) (err error) {
			if len(words) != 1 || words[0] != "off" {
				a.Brownout, err = parseBrownout(words)
			}
			return err
		},
		Value: func(a *Arguments) any { return BrownoutWords(a.Brownout) },
	}
	binary = Arg{
		Name: "binary", Kind: Object, Label: "The binary", Flag: "binary", Help: "the `file` to become (default that of the running process)",
		Parse: func(a *Arguments, words []string) (err error) {
			if words[0] != "" {
				a.Binary, err = filepath.Abs(words[0])
			}
			return err
		},
	}
	waiting = Arg{
		Kind: Span, Label: "Wait", Flag: "wait", Help: "wait this long until players are served",
		Parse: func(a *Arguments, words []string) (err error) { a.wait, err = time.ParseDuration(words[0]); return err },
	}
)
