package reward

import "wamble"

// Player is one who moved in a game, and what comes of it for him.
type Player struct {
	Session      wamble.SessionID
	White, Black int              // moves for either side
	Rating       float64          // how strong he was; whoever has none counts as a new player
	Rated        bool             // he has a rating that is kept
	Key          wamble.PublicKey // of his identity; zero: not known, or none
	Number       uint32           // tells his identity from others; 0: not known, or none
	Points       float64          // set by Share
	Change       float64          // of the rating; set by Rate
}

// is reports whether two sessions are of the same player, as far as that is known.
func (p *Player) is(other *Player) bool {
	return p.Session == other.Session || p.Number != 0 && p.Number == other.Number
}

// unit is what the stores keep: four decimals.
const unit = 1e-4

// total counts the moves of either side.
func total(players []Player) (white, black int64) {
	for i := range players {
		white += int64(players[i].White)
		black += int64(players[i].Black)
	}
	return white, black
}
