package reward

import (
	"strconv"
	"strings"
	"time"

	"wamble"
)

// Prizes is what players have won and were told of within the last Every: they
// are told of the first prize at once, and of what comes after it once in Every.
// Whoever has moved on many boards would be flooded otherwise. A handoff forgets
// what nobody was told of yet; the points are safe. Make it with NewPrizes.
type Prizes struct {
	of    map[wamble.SessionID]*Prize
	queue []*Prize // in the order of due
}

// Prize is what one player has won since he was told.
type Prize struct {
	Session wamble.SessionID
	Board   wamble.BoardID // of the last game
	points  float64
	games   int
	due     time.Duration // when he may be told again
}

// Every is how often a player is told what he won.
const Every = time.Second

// NewPrizes returns no prizes.
func NewPrizes() Prizes { return Prizes{of: map[wamble.SessionID]*Prize{}} }

// Win adds what a game has won a player. It returns the prize if he is to be told
// at once, nil if he is told later.
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

// Due takes a prize out of the queue whose time has come, and reports false if
// there is none. Each is then Told or Forgotten.
func (ps *Prizes) Due(now time.Duration) (*Prize, bool) {
	if len(ps.queue) == 0 || ps.queue[0].due > now {
		return nil, false
	}
	p := ps.queue[0]
	ps.queue = ps.queue[1:]
	return p, true
}

// IsEmpty reports whether the player has won nothing since he was told.
func (p *Prize) IsEmpty() bool { return p.games == 0 }

// Told says that a player is told of his prize now.
func (ps *Prizes) Told(now time.Duration, p *Prize) {
	p.points, p.games, p.due = 0, 0, now+Every
	ps.queue = append(ps.queue, p)
}

// Forget forgets a prize that nobody is told of.
func (ps *Prizes) Forget(p *Prize) { delete(ps.of, p.Session) }

// Next returns when the next prize is due.
func (ps *Prizes) Next() (time.Duration, bool) {
	if len(ps.queue) == 0 {
		return 0, false
	}
	return ps.queue[0].due, true
}

// Len is how many players were told lately.
func (ps *Prizes) Len() int { return len(ps.of) }

// AppendText appends what a player is told of his prize.
func (p *Prize) AppendText(dst []byte) []byte {
	dst = append(appendPoints(append(dst, "your moves won "...), p.points), " points"...)
	if p.games > 1 {
		dst = append(strconv.AppendInt(append(dst, " in "...), int64(p.games), 10), " games"...)
	}
	return dst
}

// appendPoints writes points as the stores keep them: with up to four decimals.
func appendPoints(dst []byte, points float64) []byte {
	text := strings.TrimRight(strconv.FormatFloat(points, 'f', 4, 64), "0")
	return append(dst, strings.TrimSuffix(text, ".")...)
}
