package loader

import (
	"fmt"
	"strings"
)

// Mode is what the clients ask for.
type Mode uint8

// The modes.
const (
	Moves    Mode = iota // legal moves, as fast as they are answered
	Hello                // new sessions, each from another address where possible
	Legal                // the legal moves of a square
	Spectate             // watch all boards, while some players move
	Mixed                // players, watchers, predictors and leaderboard readers
	JSON                 // moves, by one client of ten in JSON
)

// modes is the one table of modes.
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

// Unit names what m counts, in the plural.
func (m Mode) Unit() string { return modes[m].unit }

// ModeNames lists the names of all modes.
func ModeNames() []string {
	var names []string
	for _, m := range modes {
		names = append(names, m.name)
	}
	return names
}

// ParseMode returns the mode of that name.
func ParseMode(name string) (Mode, error) {
	for i, m := range modes {
		if m.name == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("there is no mode %q; the modes are %s", name, strings.Join(ModeNames(), ", "))
}
