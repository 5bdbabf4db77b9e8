package board

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

// Why says how a holder lost his board without moving.
type Why uint8

// The closed list of ways.
const (
	TimedOut  Why = iota // he held it for reservation-timeout
	TakenBack            // his host holds most, and another player had no board
	Left                 // he left, or the server let him go
	Ended                // the host ended the game
	Gone                 // he showed no sign of life; he gets it back if nobody else does
	Lost                 // he was gone, and somebody else has got it now
)

// Released is a board that its holder lost without moving.
type Released struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	Why     Why
}

// Next returns when Due is to be called, and false when no board has a deadline.
// It may be earlier than Due has something to do.
func (p *Pool) Next() (time.Time, bool) {
	if len(p.deadlines.heap) == 0 {
		return time.Time{}, false
	}
	return timeOf(p.deadlines.heap[0].at), true
}

// maxDue is how many boards one Due looks at.
const maxDue = 4096

// Due makes boards dormant whose time is over: held for reservation-timeout, or by
// somebody who is gone, or not played on for inactivity-timeout. It appends the reservations that ended
// to dst, earliest first, and returns it. It looks at maxDue boards at most, so
// that nobody waits long when very many are late; Next tells that there is more.
func (p *Pool) Due(now time.Time, dst []Released, out intent.Intents) []Released {
	t := p.tick(now)
	for n := 0; n < maxDue && len(p.deadlines.heap) > 0 && p.deadlines.heap[0].at <= t; n++ {
		first := p.deadlines.heap[0]
		b := first.board
		at, ok := p.deadline(b)
		switch {
		case !ok:
			p.deadlines.remove(b)
		case at > first.at:
			p.deadlines.delay(at)
		case b.status == wamble.Reserved:
			if r, released := p.lapse(t, b, out); released {
				dst = append(dst, r)
			}
		default:
			p.unwrite(b)
			b.status = wamble.Dormant
			p.active--
			p.update(t, b, out)
		}
	}
	return dst
}
