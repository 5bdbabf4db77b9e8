// Package tally counts how players have moved in recurring positions, above all in openings. It is pure.
//
//   - a Table is the moves that were played, by position, since the start;
//   - an entry is one position with the moves that were played there.
//
// A Table is bounded: rare positions make room for others.
package tally

import (
	"math"
	"strconv"

	"wamble/chess"
)

const (
	// Plies is the ply up to which moves are worth counting.
	Plies = 10
	// Most is how many moves of a position are shown.
	Most = 4

	sets  = 256
	ways  = 4  // entries per set
	moves = 24 // per entry: in openings hardly any position has more
)

// Table counts how often moves were played, by the key of their position. Its zero value is empty.
type Table struct {
	sets *[sets]set
}

// set is the positions whose keys have the same low bits. The fields that every move reads are adjacent.
type set struct {
	keys [ways]uint64
	// weights are how often positions came up, minus how often others wanted their places; 0: the place is
	// free.
	weights [ways]uint32
	entries [ways]entry
}

// entry is the moves that were played in a position.
type entry struct {
	moves  [moves]chess.Move // up to a 0
	counts [moves]uint32
}

// find returns the place of a position in its set, -1 if it has none.
func (s *set) find(key uint64) int {
	for i, k := range s.keys {
		if k == key && s.weights[i] > 0 {
			return i
		}
	}
	return -1
}

// Count counts a move. A new position in a full set takes the place of the rarest once as many others have
// come up.
func (t *Table) Count(key uint64, m chess.Move) {
	if t.sets == nil {
		t.sets = new([sets]set)
	}
	s := &t.sets[key%sets]
	if i := s.find(key); i >= 0 {
		if s.weights[i] < math.MaxUint32 {
			s.weights[i]++
		}
		s.entries[i].count(m)
		return
	}
	rarest := 0
	for i, w := range s.weights {
		if least := s.weights[rarest]; w < least || w == least && w > 0 { // ties: the last, so that the others may recur
			rarest = i
		}
	}
	if s.weights[rarest] > 1 {
		s.weights[rarest]--
		return
	}
	s.keys[rarest], s.weights[rarest] = key, 1
	e := &s.entries[rarest]
	e.moves[0], e.counts[0], e.moves[1] = m, 1, 0
}

// count counts a move, unless the entry has too many others.
func (e *entry) count(m chess.Move) {
	for i := range e.moves {
		switch {
		case e.moves[i] == m:
		case e.moves[i] != 0:
			continue
		default:
			if e.moves[i], e.counts[i] = m, 0; i+1 < moves {
				e.moves[i+1] = 0
			}
		}
		if e.counts[i] < math.MaxUint32 {
			e.counts[i]++
		}
		return
	}
}

// AppendTop appends the most frequent moves in a position, at most Most, each in UCI with its count: "e2e4
// 12 d2d4 5". It appends nothing if fewer than two moves were made in the position.
func (t *Table) AppendTop(dst []byte, key uint64) []byte {
	if t.sets == nil {
		return dst
	}
	s := &t.sets[key%sets]
	if i := s.find(key); i >= 0 {
		return s.entries[i].appendTop(dst)
	}
	return dst
}

func (e *entry) appendTop(dst []byte) []byte {
	if e.counts[0] == 1 && e.moves[1] == 0 {
		return dst
	}
	var told uint32 // bits of moves
	for n := range Most {
		best := -1
		for i, m := range e.moves {
			if m == 0 {
				break
			}
			if told&(1<<i) == 0 && (best < 0 || e.counts[i] > e.counts[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		told |= 1 << best
		if n > 0 {
			dst = append(dst, ' ')
		}
		dst = append(e.moves[best].AppendUCI(dst), ' ')
		dst = strconv.AppendUint(dst, uint64(e.counts[best]), 10)
	}
	return dst
}
