package reward

import (
	"strconv"
	"strings"
	"time"

	"wamble"
)

// Prizes is what players have won and were told of within the last Every. A player is told of the first
// prize at once, and of later ones once per Every; with moves on many boards they would be flooded
// otherwise. A handoff drops prizes that were not told; the points are safe. Prizes are made by NewPrizes.
type Prizes struct {
	of    map[wamble.SessionID]*Prize
	queue []*Prize // in the order of due
}

// Prize is what one player has won since they were last told.
type Prize struct {
	Session wamble.SessionID
	Board   wamble.BoardID // of the last game
	points  float64
	games   int
	due     time.Duration // when they may be told again
}

// Every is the shortest time between two notices to a player.
const Every = time.Second

// NewPrizes returns an empty Prizes.
func NewPrizes() Prizes { return Prizes{of: map[wamble.SessionID]*Prize{}} }

// Win adds what a game has won a player. It returns the prize if they must be told at once, nil if later.
func (ps *Prizes) Win(s wamble.SessionID, board wamble.BoardID, points float64) *Prize {
	p, told := ps.of[s]
	if !told {
		p = &Prize{Session: s}
		ps.of[s] = p
	}
	p.Board, p.points, p.games = board, p.points+points, p.games+1
	if told {
		return nil
	}
	return p
}

// Due removes the first prize from the queue if it is due, and reports false otherwise. The caller then
// calls Sent or Forget with it.
func (ps *Prizes) Due(now time.Duration) (*Prize, bool) {
	if len(ps.queue) == 0 || ps.queue[0].due > now {
		return nil, false
	}
	p := ps.queue[0]
	ps.queue = ps.queue[1:]
	return p, true
}

// IsEmpty reports whether the player has won nothing since they were last told.
func (p *Prize) IsEmpty() bool { return p.games == 0 }

// Sent says that a player is told of their prize now.
func (ps *Prizes) Sent(now time.Duration, p *Prize) {
	p.points, p.games, p.due = 0, 0, now+Every
	ps.queue = append(ps.queue, p)
}

// Forget removes a prize of which the player is not told.
func (ps *Prizes) Forget(p *Prize) { delete(ps.of, p.Session) }

// Next returns when the next prize is due.
func (ps *Prizes) Next() (time.Duration, bool) {
	if len(ps.queue) == 0 {
		return 0, false
	}
	return ps.queue[0].due, true
}

// Len returns how many players were told recently.
func (ps *Prizes) Len() int { return len(ps.of) }

// AppendText appends the text that tells a player of their prize.
func (p *Prize) AppendText(dst []byte) []byte {
	dst = append(appendPoints(append(dst, "your moves won "...), p.points), " points"...)
	if p.games > 1 {
		dst = append(strconv.AppendInt(append(dst, " in "...), int64(p.games), 10), " games"...)
	}
	return dst
}

// appendPoints appends points with the precision of the stores: up to four decimals.
func appendPoints(dst []byte, points float64) []byte {
	text := strings.TrimRight(strconv.FormatFloat(points, 'f', 4, 64), "0")
	return append(dst, strings.TrimSuffix(text, ".")...)
}
