// Package tally counts how players have moved in positions that come up again and again,
// above all in openings. It is a pure room.
//
//   - a Table is what was played, by position, since the start;
//   - an entry is one position with the moves that were played there.
//
// A Table is bounded: positions that come up rarely make room for others.
package tally

import (
	"math"
	"strconv"

	"wamble/chess"
)

const (
	// Plies is up to which ply of a game positions come up again.
	Plies = 10
	// Most is how many moves are told of a position.
	Most = 4

	sets  = 256
	ways  = 4  // entries of a set
	moves = 24 // of an entry: in openings hardly a position has more
)

// Table is how often moves were played, by the key of their position. Its zero value is
// empty.
type Table struct {
	sets *[sets]set
}

// set is the positions whose keys have the same low bits. What is looked at with every
// move lies together.
type set struct {
	keys [ways]uint64
	// weights are how often positions came up, less how often others wanted their
	// places; 0: none.
	weights [ways]uint32
	entries [ways]entry
}

// entry is what was played in a position.
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

// Count adds a move. The rarest position of a full set makes room for a new one when as
// many others have come up.
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
		if least := s.weights[rarest]; w < least || w == least && w > 0 { // of equals the last, so that the others may come up again
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

// count adds a move, unless too many others were played.
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

// AppendTop appends the moves that were played most in a position, at most Most, each in
// UCI with how often it was: "e2e4 12 d2d4 5". It appends nothing about a position in
// which fewer than two moves were made.
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
