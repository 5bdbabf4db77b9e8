package profile

import (
	"strconv"
	"time"

	"wamble"
	"wamble/internal/session"
	"wamble/wire"
)

// prizes is what players have won and were told of within the last second: they
// are told of the first prize at once, and of what comes after it once a second.
// Whoever has moved on many boards would be flooded otherwise. A handoff forgets
// what nobody was told of yet; the points are safe.
type prizes struct {
	of    map[wamble.SessionID]*prize
	queue []*prize // in the order of due
	text  []byte
}

// prize is what one player has won since he was told.
type prize struct {
	session wamble.SessionID
	board   wamble.BoardID // of the last game
	points  float64
	games   int
	due     time.Duration // when he may be told again
}

// prizeEvery is how often a player is told what he won.
const prizeEvery = time.Second

func newPrizes() prizes { return prizes{of: map[wamble.SessionID]*prize{}} }

// award tells a player what a game has won him, or keeps it for later.
func (p *Profile) award(s *session.Session, board wamble.BoardID, points float64, out *Output) {
	a, told := p.audience.prizes.of[s.ID()]
	if !told {
		a = &prize{session: s.ID()}
		p.audience.prizes.of[s.ID()] = a
	}
	a.board, a.points, a.games = board, a.points+points, a.games+1
	if !told {
		p.tellPrize(a, s, out)
	}
}

// tellPrize tells a player what he has won.
func (p *Profile) tellPrize(a *prize, s *session.Session, out *Output) {
	all := &p.audience.prizes
	all.text = append(appendPoints(append(all.text[:0], "your moves won "...), a.points), " points"...)
	if a.games > 1 {
		all.text = append(strconv.AppendInt(append(all.text, " in "...), int64(a.games), 10), " games"...)
	}
	p.notify(s.Token(), a.board, wire.ServerNotification{Type: wire.NoticePotPayout, Text: all.text}, out)
	a.points, a.games, a.due = 0, 0, p.clock.since+prizeEvery
	all.queue = append(all.queue, a)
}

// tellPrizes tells those whose time has come, and forgets who has won nothing more.
func (p *Profile) tellPrizes(out *Output) {
	all := &p.audience.prizes
	for len(all.queue) > 0 && all.queue[0].due <= p.clock.since {
		a := all.queue[0]
		all.queue = all.queue[1:]
		if s := p.sessions.ByID(a.session); s != nil && a.games > 0 && p.isHere(s) {
			p.tellPrize(a, s, out)
			continue
		}
		delete(all.of, a.session)
	}
}

// next returns when somebody may have to be told.
func (all *prizes) next() (time.Duration, bool) {
	if len(all.queue) == 0 {
		return 0, false
	}
	return all.queue[0].due, true
}
