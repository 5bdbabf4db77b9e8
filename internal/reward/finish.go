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
	K      float64 // largest change of a rating
}

// Ledger makes the intents of finished games. It reuses its memory.
type Ledger struct {
	byKey   map[wamble.PublicKey]int // index in changes
	changes []change
	payout  intent.RecordPayout
	rating  intent.RecordRating
}

// change is the change of one player's rating by a game.
type change struct {
	session wamble.SessionID
	key     wamble.PublicKey
	delta   float64
}

// Finish sets the Points and Changes of the players of a game, and adds the intents: a payout for each
// session that has won points, and one change per rated player, even with several sessions. It returns
// their numbers.
func (l *Ledger) Finish(g Game, players []Player, to intent.Intents) (payouts, ratings int) {
	Share(g.Pot, g.Result, players)
	Rate(g.K, g.Result, players)
	l.changes = l.changes[:0]
	for i := range players {
		p := &players[i]
		if p.Points != 0 {
			l.payout = intent.RecordPayout{Board: g.Board, Session: p.Session, Points: p.Points, Canonical: p.Points,
				At: g.At}
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

// change adds the change of a session's rating to that of its identity.
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
