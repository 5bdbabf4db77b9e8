package reward

import (
	"time"

	"wamble"
	"wamble/internal/intent"
)

// Game is a finished game, and what is at stake in it.
type Game struct {
	Board  wamble.BoardID
	Result wamble.Result
	At     time.Time
	Pot    float64 // points
	K      float64 // how much a rating can change
}

// Ledger makes the intents of finished games. Its memory is used again.
type Ledger struct {
	byKey   map[wamble.PublicKey]int // place in changes
	changes []change
	payout  intent.RecordPayout
	rating  intent.RecordRating
}

// change is by how much a game changes the rating of one player.
type change struct {
	session wamble.SessionID
	key     wamble.PublicKey
	delta   float64
}

// Finish sets the Points and Changes of those who played a game, and writes them
// down: a payout for each who won something, and one change for each who has a
// rating, though he may have played in several sessions. It returns how many
// there are.
func (l *Ledger) Finish(g Game, players []Player, to intent.Intents) (payouts, ratings int) {
	Share(g.Pot, g.Result, players)
	Rate(g.K, g.Result, players)
	l.changes = l.changes[:0]
	for i := range players {
		p := &players[i]
		if p.Points != 0 {
			l.payout = intent.RecordPayout{Board: g.Board, Session: p.Session, Points: p.Points, Canonical: p.Points, At: g.At}
			to.Add(&l.payout)
			payouts++
		}
		if p.Rated && p.Change != 0 {
			l.change(p)
		}
	}
	clear(l.byKey)
	for _, c := range l.changes {
		l.rating = intent.RecordRating{Board: g.Board, Session: c.session, Key: c.key, Delta: c.delta, At: g.At}
		to.Add(&l.rating)
	}
	return payouts, len(l.changes)
}

// change adds the change of a player's rating to that of his identity.
func (l *Ledger) change(p *Player) {
	at, known := l.byKey[p.Key]
	if !known || p.Key.IsZero() {
		at = len(l.changes)
		l.changes = append(l.changes, change{session: p.Session, key: p.Key})
		if l.byKey == nil {
			l.byKey = map[wamble.PublicKey]int{}
		}
		l.byKey[p.Key] = at
	}
	l.changes[at].delta += p.Change
}
