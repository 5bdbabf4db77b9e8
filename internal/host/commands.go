package host

import (
	"fmt"
	"slices"
)

//go:generate go test . -run TestDocumented -update

// Commands is the one table of what a host can tell a server that runs, by family.
var Commands = slices.Concat(serverCommands, boardCommands, peopleCommands, tokenCommands, journalCommands)

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
