package admin

import (
	"fmt"
	"slices"
)

//go:generate go test . -run TestDocumented -update

// Commands is the table of all commands.
var Commands = slices.Concat(serverCommands, boardCommands, peopleCommands, tokenCommands, journalCommands)

// counted returns a number with its noun, as "3 games".
func counted(n uint64, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
