package board

import (
	"math"
	"time"

	"wamble"
	"wamble/chess"
)

// Options is the boards' part of a profile's configuration.
type Options struct {
	MinBoards int     // least number of boards in play
	MaxBoards int     // largest number of boards in the pool
	PerPlayer float64 // boards in play per player who is here
	// Chess960Interval N makes every board whose number is a multiple of N a Chess960 board; 0 makes all of
	// them, less than 0 none.
	Chess960Interval int
	MaxMoves         int           // plies after which a game is drawn; 0: no limit
	Inactivity       time.Duration // ACTIVE becomes DORMANT
	Reservation      time.Duration // RESERVED becomes DORMANT, whatever the holder does
	// A holder counts as gone without a sign of life for Inactivity, with an open connection for Away,
	// after a closed connection for Disconnect.
	Away, Disconnect time.Duration
	// IdentityAway is how long the board of a holder with an identity is kept for them after that sign of
	// life, if longer.
	IdentityAway time.Duration
	// New and Experienced weigh the phases of a game for players with less than ten games, and with ten or
	// more.
	New, Experienced Multipliers
}

// Multipliers weigh a board by the phase of its game; negative ones count as 0.
type Multipliers struct{ Early, Mid, End float64 }

// experience is the number of games that makes a player experienced.
const experience = 10

// phase is the phase of a game.
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

// wanted returns how many boards should be in play for a number of players.
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
