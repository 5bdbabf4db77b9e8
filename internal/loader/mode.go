package loader

import (
	"fmt"
	"strings"
)

// Mode is what the clients request.
type Mode uint8

// The modes.
const (
	Moves    Mode = iota // legal moves, as fast as they are answered
	Hello                // new sessions, each from a new address if possible
	Legal                // the legal moves of a square
	Spectate             // watch all boards, while some players move
	Mixed                // players, watchers, predictors and readers of the leaderboard
	JSON                 // moves, by one client of ten in JSON
)

// modes is the table of modes.
var modes = [...]struct{ name, unit string }{
	Moves: {"moves", "moves"},
	Hello: {"hello", "sessions"},
	Legal: {"legal", "requests"},

	Spectate: {"spectate", "updates"},
	Mixed:    {"mixed", "requests"},
	JSON:     {"json", "moves"},
}

// String returns the name of m.
func (m Mode) String() string { return modes[m].name }

// Unit returns the plural noun of what m counts.
func (m Mode) Unit() string { return modes[m].unit }

// ModeNames returns the names of all modes.
func ModeNames() []string {
	var names []string
	for _, m := range modes {
		names = append(names, m.name)
	}
	return names
}

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	for i, m := range modes {
		if m.name == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("there is no mode %q; the modes are %s", name, strings.Join(ModeNames(), ", "))
}
