package reward

import "wamble"

// Player is one session that has moved in a game, and its reward.
type Player struct {
	Session      wamble.SessionID
	White, Black int              // moves for either side
	Rating       float64          // at the time of the game; the default rating if they have none
	Rated        bool             // has a rating that is kept
	Key          wamble.PublicKey // of the identity; zero: unknown or none
	Number       uint32           // identifies the identity; 0: unknown or none
	Points       float64          // set by Share
	Change       float64          // of the rating; set by Rate
}

// is reports whether two sessions are known to belong to the same player.
func (p *Player) is(other *Player) bool {
	return p.Session == other.Session || p.Number != 0 && p.Number == other.Number
}

// unit is the precision of the stores: four decimals.
const unit = 1e-4

// total counts the moves of either side.
func total(players []Player) (white, black int64) {
	for i := range players {
		white += int64(players[i].White)
		black += int64(players[i].Black)
	}
	return white, black
}
