// Package opening has the names of some 3400 openings of chess, with their codes in the
// Encyclopaedia of Chess Openings.
//
//   - Of returns the name of a position.
//   - Find returns the name of a game: of its last position that has a name.
//
// A position has the same name whatever moves have led to it. The table, openings.tsv, is that
// of https://github.com/lichess-org/chess-openings (as contained in
// github.com/corentings/chess/v2 v2.3.2): "As a collection of facts, this data set is in the
// public domain." A line has code, name, and the moves to the position in UCI notation.
package opening

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"wamble/chess"
)

// Opening is the name of an opening.
type Opening struct {
	ECO  string // A00 to E99
	Name string // "Sicilian Defense: Najdorf Variation"
}

//go:embed openings.tsv
var table string

// names has the openings by the keys of their positions. It is filled at its first use.
var names = sync.OnceValue(func() map[uint64]Opening {
	all := make(map[uint64]Opening, 4096)
	for line := range strings.Lines(table) {
		eco, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name, moves, _ := strings.Cut(rest, "\t")
		p := chess.Start()
		for uci := range strings.FieldsSeq(moves) {
			m, err := p.ParseUCI(uci)
			if err != nil {
				panic(fmt.Sprintf("opening: %s %s: %v", eco, name, err)) // the table is part of the program
			}
			p.Apply(m)
		}
		all[p.Key()] = Opening{eco, name}
	}
	return all
})

// Of returns the name of a position, or false if it has none. Chess960 positions have none.
func Of(p chess.Position) (Opening, bool) {
	if p.Chess960() {
		return Opening{}, false
	}
	o, ok := names()[p.Key()]
	return o, ok
}

// Find returns the name of a game that began at start, which is that of its last position with
// a name, and how many moves lead to that position. It returns false if no position has a name.
func Find(start chess.Position, moves []chess.Move) (o Opening, plies int, ok bool) {
	for i, m := range moves {
		start.Apply(m)
		if named, found := Of(start); found {
			o, plies, ok = named, i+1, true
		}
	}
	return o, plies, ok
}
