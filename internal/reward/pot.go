package reward

import (
	"math"

	"wamble"
)

// Share shares a pot among the players of a finished game, and sets their
// Points. After a win it is all that of the winning side, after a draw each
// side has half. Of a side's half each has as much as of its moves. Whoever
// moved for both sides gets half of what he would, because he could not lose. Points
// are earned with others: a side for which only one player moved gets half, and a game
// that one player played against himself pays nothing. What is not paid stays in the
// pot.
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
	both, ofWhite, ofBlack := company(players)
	if !both {
		white, black = 0, 0
	}
	if !ofWhite {
		white /= 2
	}
	if !ofBlack {
		black /= 2
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

// company reports whether at least two different players moved at all, for White and
// for Black.
func company(players []Player) (both, white, black bool) {
	var any, anyWhite, anyBlack *Player
	for i := range players {
		p := &players[i]
		both = join(&any, p, p.White+p.Black) || both
		white = join(&anyWhite, p, p.White) || white
		black = join(&anyBlack, p, p.Black) || black
	}
	return both, white, black
}

// join makes a player with moves the first, and reports whether somebody else is.
func join(first **Player, p *Player, moves int) bool {
	switch {
	case moves == 0:
		return false
	case *first == nil:
		*first = p
		return false
	}
	return !p.is(*first)
}

// part is n of all parts of a sum, rounded down; of nothing it is nothing.
func part(sum, n, all int64) int64 {
	if all == 0 {
		return 0
	}
	return sum * n / all
}
