package reward

import (
	"math"

	"wamble"
)

// Share shares a pot among the players of a finished game, and sets their
// Points. After a win it is all that of the winning side, after a draw each
// side has half. Of a side's half each has as much as of its moves. Whoever
// moved for both sides gets half of what he would, because he could not lose;
// the rest of it stays in the pot.
func Share(pot float64, result wamble.Result, players []Player) {
	whole := int64(math.Floor(pot/unit + 0.5))
	var white, black int64
	switch result {
	case wamble.WhiteWins:
		white = whole
	case wamble.BlackWins:
		black = whole
	default:
		white, black = whole/2, whole/2
	}
	allWhite, allBlack := total(players)
	for i := range players {
		p := &players[i]
		points := part(white, int64(p.White), allWhite) + part(black, int64(p.Black), allBlack)
		if p.White > 0 && p.Black > 0 {
			points /= 2
		}
		p.Points = float64(points) * unit
	}
}

// part is n of all parts of a sum, rounded down; of nothing it is nothing.
func part(sum, n, all int64) int64 {
	if all == 0 {
		return 0
	}
	return sum * n / all
}
