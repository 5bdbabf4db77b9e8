package reward

import (
	"math"

	"wamble"
)

// spread is the difference of ratings at which the stronger side is expected to score ten times as much as
// the weaker one (Elo, 1978).
const spread = 400

// Expected returns the score that a side is expected to reach: 1 is a certain win, ½ even chances.
func Expected(own, other float64) float64 {
	return 1 / (1 + math.Pow(10, (other-own)/spread))
}

// Rate computes the changes of ratings by a finished game, and sets the players' Changes. Each side counts
// as one player in the sense of Elo, rated by the mean of its players' ratings weighted by moves. It gains
// k times the difference between result and expectation, which is divided among its players by moves. So
// forty moves on forty boards put as much at stake as one game of forty moves alone, and a player who moves
// for both sides gains on one what they lose on the other. A game in which only one side has moved changes
// nothing.
func Rate(k float64, result wamble.Result, players []Player) {
	allWhite, allBlack := total(players)
	if allWhite == 0 || allBlack == 0 {
		for i := range players {
			players[i].Change = 0
		}
		return
	}
	white, black := 0.0, 0.0
	for i := range players {
		p := &players[i]
		white += p.Rating * float64(p.White) / float64(allWhite)
		black += p.Rating * float64(p.Black) / float64(allBlack)
	}
	scored := 0.5
	switch result {
	case wamble.WhiteWins:
		scored = 1
	case wamble.BlackWins:
		scored = 0
	}
	stake := int64(math.Round(k * (scored - Expected(white, black)) / unit))
	// A player's part is the difference of two rounded sums: the last part has what the others have lost by
	// rounding, and together they are the stake.
	var sumWhite, sumBlack int64
	for i := range players {
		p := &players[i]
		change := part(stake, sumWhite+int64(p.White), allWhite) - part(stake, sumWhite, allWhite)
		change -= part(stake, sumBlack+int64(p.Black), allBlack) - part(stake, sumBlack, allBlack)
		sumWhite, sumBlack = sumWhite+int64(p.White), sumBlack+int64(p.Black)
		p.Change = float64(change) * unit
	}
}
