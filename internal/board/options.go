package board

import (
	"math"
	"time"

	"wamble"
	"wamble/chess"
)

// Options is what a profile's config says about its boards.
type Options struct {
	MinBoards int     // so many boards are in play at least
	MaxBoards int     // and so many are in the pool at most
	PerPlayer float64 // so many are in play for each player who is here
	// Chess960Interval N makes every board whose number N divides a Chess960
	// board; 0 makes all of them, less than 0 none.
	Chess960Interval int
	MaxMoves         int           // plies after which a game is drawn; 0: no limit
	Inactivity       time.Duration // ACTIVE becomes DORMANT
	Reservation      time.Duration // RESERVED becomes DORMANT, whatever the holder does
	// A holder counts as gone when he shows no sign of life for Inactivity, for Away if
	// he has a connection, or for Disconnect after that was closed.
	Away, Disconnect time.Duration
	// IdentityAway is how long the board of a holder with an identity is kept for him
	// alone since then; less than the above is nothing.
	IdentityAway time.Duration
	// New and Experienced weigh the phases of a game for players with less
	// than ten games, and with more.
	New, Experienced Multipliers
}

// Multipliers weigh a board by the phase of its game; none is negative.
type Multipliers struct{ Early, Mid, End float64 }

// experience is how many games make a player experienced.
const experience = 10

// phase is how far a game has come.
type phase uint8

const (
	early phase = iota // full-move number below 10
	mid                // below 30
	end
)

func phaseOf(p *chess.Position) phase {
	switch n := p.FullmoveNumber(); {
	case n < 10:
		return early
	case n < 30:
		return mid
	}
	return end
}

func (m *Multipliers) of(p phase) float64 {
	return max(0, [...]float64{m.Early, m.Mid, m.End}[p])
}

// wanted returns how many boards should be in play for so many players.
func (o *Options) wanted(players int) int {
	return min(max(int(math.Ceil(o.PerPlayer*float64(players))), o.MinBoards), o.MaxBoards)
}

// variantOf returns the Chess960 start position of a new board, or -1.
func (o *Options) variantOf(id wamble.BoardID) int16 {
	n := o.Chess960Interval
	if n < 0 || n > 0 && uint64(id)%uint64(n) != 0 {
		return -1
	}
	return int16(id % 960)
}
