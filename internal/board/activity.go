package board

import (
	"time"

	"wamble"
	"wamble/internal/intent"
)

// A player who is gone holds no board: it is free, and they get it back if they return before it is
// assigned.

// Reach is how a holder is reached, which decides how soon they count as gone.
type Reach uint8

// The closed list of ways.
const (
	Datagram Reach = iota // no connection: the holder may think, or be gone; Inactivity
	Stream                // a client that shows signs of life while its player thinks; Away
	Closed                // a closed connection; Disconnect
	Open                  // an open connection of a client that shows none; Inactivity
)

// holderTimeout returns how long a holder may show no sign of life, in µs.
func (p *Pool) holderTimeout(b *Board) int64 {
	d := p.opts.Inactivity
	switch b.reach {
	case Stream:
		d = p.opts.Away
	case Closed:
		d = p.opts.Disconnect
	}
	if b.holderAway && b.identity {
		d = max(d, p.opts.IdentityAway)
	}
	return d.Microseconds()
}

// noteActivity records a sign of life of a board's holder.
func (p *Pool) noteActivity(at int64, b *Board, by Reach) {
	b.times.lastSeen = at
	if b.holderAway || b.reach != by { // the deadline may be earlier than before
		p.setHolderAway(b, false)
		b.reach = by
		p.setAlarm(b)
	}
}

// setHolderAway sets whether the holder of a board is gone.
func (p *Pool) setHolderAway(b *Board, gone bool) {
	if b.holderAway != gone {
		if b.holderAway = gone; gone {
			p.awayCount++
		} else {
			p.awayCount--
		}
	}
}

// Closed says that the last connection of a session was closed.
func (p *Pool) Closed(now time.Time, s wamble.SessionID) {
	if b := p.holders[s]; b != nil && (b.reach == Stream || b.reach == Open) {
		b.reach, b.times.lastSeen = Closed, p.tick(now)
		p.setAlarm(b)
	}
}

// Away says that the player of a session has left and may return: the board is free at once, and they get
// it back if they return before it is assigned. For a player with an identity it is kept for IdentityAway.
func (p *Pool) Away(now time.Time, s wamble.SessionID, out intent.Intents) (Released, bool) {
	t := p.tick(now)
	if b := p.holders[s]; b != nil {
		return p.away(t, b, out)
	}
	return Released{}, false
}

func (p *Pool) away(at int64, b *Board, out intent.Intents) (Released, bool) {
	if b.identity && p.opts.IdentityAway > 0 {
		b.reach, b.times.lastSeen = Closed, at
		p.setHolderAway(b, true)
		p.setAlarm(b)
		return Released{}, false
	}
	return p.letGo(at, b, HolderLeft, out), true
}

// releaseOverdue handles the deadline of a held board: its holder loses it, or counts as gone.
func (p *Pool) releaseOverdue(at int64, b *Board, out intent.Intents) (Released, bool) {
	if at >= b.times.reserved+p.opts.Reservation.Microseconds() {
		return p.release(at, b, TimedOut, out), true
	}
	if due := b.times.lastSeen + p.holderTimeout(b); b.identity && !b.holderAway {
		p.setHolderAway(b, true)
		if later, _ := p.deadline(b); later > due {
			p.deadlines.delay(later)
			return Released{}, false
		}
	}
	return p.letGo(at, b, HolderGone, out), true
}

// letGo releases a board, and keeps its holder as the one who may return for it.
func (p *Pool) letGo(at int64, b *Board, why ReleaseReason, out intent.Intents) Released {
	r := p.release(at, b, why, out)
	b.former = r.Session
	p.former[r.Session] = b
	return r
}

// forgetFormer removes the claim of a board's former holder.
func (p *Pool) forgetFormer(b *Board) {
	if b.former != 0 {
		delete(p.former, b.former)
		b.former = 0
	}
}

// Former returns the number of the free board that a session gets back if it returns; 0 if there is none.
func (p *Pool) Former(s wamble.SessionID) wamble.BoardID {
	if b := p.former[s]; b != nil {
		return b.id
	}
	return 0
}
