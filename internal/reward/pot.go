package reward

import (
	"math"

	"wamble"
)

// Share divides a pot among the players of a finished game, and sets their Points. After a win it is for
// the winning side, after a draw half of it for each side. A side's part is divided in proportion to moves.
// A player who moved for both sides gets half of their part, because they could not lose. A side for which
// only one player moved gets half, and a game that one player played alone pays nothing. What is not paid
// stays in the pot.
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

// company reports whether at least two different players have moved: in the game, for White, and for Black.
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

// join sets first if it is nil and p has moves. It reports whether p has moves and is another player than
// first.
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

// part returns n/all of a sum, rounded towards zero; 0 if all is 0.
func part(sum, n, all int64) int64 {
	if all == 0 {
		return 0
	}
	return sum * n / all
}
