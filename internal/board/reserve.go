package board

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/share"

	"wamble"
)

// reserve makes a free board that of a player.
func (p *Pool) reserve(at int64, b *Board, player Player, out intent.Intents) {
	p.setHeld(b)
	p.hold(b, player.Session, player.Identity)
	p.shares.Add(&b.share, b, player.Host)
	b.times.reserved, b.times.assigned, b.times.heard = at, at, at
	p.setAlarms(b)
	p.update(at, b, out)
	p.assigned(at, b, out)
}

func (p *Pool) hold(b *Board, s wamble.SessionID, identity bool) {
	b.status, b.holder, b.identity = wamble.Reserved, s, identity
	p.holders[s] = b
}

// setAlarms sets the alarms of a held board.
func (p *Pool) setAlarms(b *Board) {
	at, _ := p.deadline(b)
	p.deadlines.sooner(b, at)
	p.silence.sooner(b, b.times.heard)
}

// unhold leaves a board without its holder; it is neither free nor held then.
func (p *Pool) unhold(b *Board) {
	delete(p.holders, b.holder)
	p.shares.Remove(&b.share)
	b.holder, b.identity = 0, false
	b.times.reserved, b.times.heard = 0, 0
}

// release takes a held board from its holder.
func (p *Pool) release(at int64, b *Board, why Why, out intent.Intents) Released {
	r := Released{Board: b.id, Session: b.holder, Why: why}
	p.unhold(b)
	b.status = wamble.Dormant
	p.setFree(b)
	p.update(at, b, out)
	p.removeReservation(at, b, out)
	return r
}

// Release takes away the board that a session holds, and reports whether it
// held one.
func (p *Pool) Release(now time.Time, s wamble.SessionID, out intent.Intents) (Released, bool) {
	t := p.tick(now)
	b := p.holders[s]
	if b == nil {
		return Released{}, false
	}
	return p.release(t, b, Left, out), true
}

// Leave says that a session has ended, by goodbye or by expiry. A player with
// an identity keeps his board until reservation-timeout; from any other it is
// released.
func (p *Pool) Leave(now time.Time, s wamble.SessionID, out intent.Intents) (Released, bool) {
	if b := p.holders[s]; b == nil || b.identity {
		return Released{}, false
	}
	return p.Release(now, s, out)
}

// Identify says that a session got an identity, or lost it.
func (p *Pool) Identify(s wamble.SessionID, identity bool) {
	if b := p.holders[s]; b != nil {
		b.identity = identity
	}
}

// Heard notes a sign of life of a session. Its board is not taken back for
// inactivity-timeout from now.
func (p *Pool) Heard(now time.Time, s wamble.SessionID) {
	if b := p.holders[s]; b != nil {
		b.times.heard = p.tick(now)
		p.shares.Touch(&b.share)
	}
}

// Place says from which host a session comes. Until then its board is counted for
// nobody.
func (p *Pool) Place(s wamble.SessionID, host share.Host) {
	if b := p.holders[s]; b != nil {
		p.shares.Add(&b.share, b, host)
	}
}

// takeShare releases the idlest board of the host that holds most, for one of
// another host; see share.Table.Yield.
func (p *Pool) takeShare(at int64, host share.Host, out intent.Intents) (Released, bool) {
	b := p.shares.Yield(host)
	if b == nil {
		return Released{}, false
	}
	return p.release(at, b, TakenBack, out), true
}

// takeBack releases the board of the holder who has been silent for longest,
// if that is more than inactivity-timeout.
func (p *Pool) takeBack(at int64, out intent.Intents) (Released, bool) {
	b := p.idlest(at)
	if b == nil {
		return Released{}, false
	}
	return p.release(at, b, TakenBack, out), true
}

// idlest returns the board whose holder has been silent for longest, if that is more
// than inactivity-timeout; else nil.
func (p *Pool) idlest(at int64) *Board {
	limit := at - p.opts.Inactivity.Microseconds()
	for len(p.silence.heap) > 0 && p.silence.heap[0].at < limit {
		b := p.silence.heap[0].board
		switch {
		case b.holder == 0:
			p.silence.remove(b)
		case b.times.heard > p.silence.heap[0].at:
			p.silence.delay(b.times.heard)
		default:
			return b
		}
	}
	return nil
}
