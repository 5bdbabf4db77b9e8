package board

import (
	"time"

	"wamble/internal/intent"

	"wamble"
)

// ReleaseReason says how a holder lost their board without moving.
type ReleaseReason uint8

// The closed list of reasons.
const (
	TimedOut       ReleaseReason = iota // held for reservation-timeout
	TakenBack                           // taken for a player without a board
	HolderLeft                          // the holder left, or their session ended
	HostEnded                           // the host ended the game
	HolderGone                          // no sign of life; the holder gets it back unless it is assigned
	HolderReplaced                      // the holder was gone, and the board is now assigned to another player
)

// Released is a board that its holder lost without moving.
type Released struct {
	Board   wamble.BoardID
	Session wamble.SessionID
	Reason  ReleaseReason
}

// Next returns when Due must be called, and false if no board has a deadline. There may be nothing due yet
// at that time.
func (p *Pool) Next() (time.Time, bool) {
	if len(p.deadlines.heap) == 0 {
		return time.Time{}, false
	}
	return timeOf(p.deadlines.heap[0].at), true
}

// maxDue bounds the boards that one Due checks.
const maxDue = 4096

// Due makes boards dormant whose time is over: held for reservation-timeout, held by a player who is gone,
// or without a move for inactivity-timeout. It appends the reservations that have ended to dst, earliest
// first, and returns it. It checks at most maxDue boards, so that a step stays short when very many are
// late; then Next returns a time that has passed.
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
			if r, released := p.releaseOverdue(t, b, out); released {
				dst = append(dst, r)
			}
		default:
			b.status = wamble.Dormant
			p.active--
			p.update(t, b, out)
		}
	}
	return dst
}
