package board

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/share"

	"wamble"
)

// reserve makes a player the holder of a free board.
func (p *Pool) reserve(at int64, b *Board, player Player, out intent.Intents) {
	p.setHeld(b)
	p.forgetFormer(b)
	if kept := p.former[player.Session]; kept != nil {
		p.forgetFormer(kept)
	}
	p.setHolder(b, player.Session, player.Identity)
	b.reach = player.Reach
	p.shares.Add(&b.share, b, player.Host)
	b.times.reserved, b.times.assigned, b.times.lastSeen = at, at, at
	p.setAlarm(b)
	p.update(at, b, out)
	p.assigned(at, b, out)
}

func (p *Pool) setHolder(b *Board, s wamble.SessionID, identity bool) {
	b.status, b.holder, b.identity = wamble.Reserved, s, identity
	p.holders[s] = b
}

// setAlarm sets the alarm of a held board.
func (p *Pool) setAlarm(b *Board) {
	at, _ := p.deadline(b)
	p.deadlines.sooner(b, at)
}

// clearHolder removes the holder of a board, which is neither free nor held then.
func (p *Pool) clearHolder(b *Board) {
	delete(p.holders, b.holder)
	p.shares.Remove(&b.share)
	p.setHolderAway(b, false)
	b.holder, b.identity, b.reach = 0, false, Datagram
	b.times.reserved, b.times.lastSeen = 0, 0
}

// release takes a held board from its holder.
func (p *Pool) release(at int64, b *Board, why ReleaseReason, out intent.Intents) Released {
	r := Released{Board: b.id, Session: b.holder, Reason: why}
	p.clearHolder(b)
	b.status = wamble.Dormant
	p.setFree(b)
	p.update(at, b, out)
	p.removeReservation(at, b, out)
	return r
}

// Release takes the board that a session holds from it, and reports whether it held one.
func (p *Pool) Release(now time.Time, s wamble.SessionID, out intent.Intents) (Released, bool) {
	t := p.tick(now)
	b := p.holders[s]
	if b == nil {
		return Released{}, false
	}
	return p.release(t, b, HolderLeft, out), true
}

// Leave says that a session has ended, by goodbye or by expiry. Its board is released. For a player with an
// identity it is kept for IdentityAway, or until it is assigned if that is 0.
func (p *Pool) Leave(now time.Time, s wamble.SessionID, out intent.Intents) (Released, bool) {
	t := p.tick(now)
	b := p.holders[s]
	switch {
	case b == nil:
		return Released{}, false
	case !b.identity:
		return p.release(t, b, HolderLeft, out), true
	}
	return p.away(t, b, out)
}

// Identify says whether a session has an identity.
func (p *Pool) Identify(s wamble.SessionID, identity bool) {
	if b := p.holders[s]; b != nil {
		b.identity = identity
		p.setAlarm(b)
	}
}

// NoteActivity records a sign of life of a session, and how it is reached.
func (p *Pool) NoteActivity(now time.Time, s wamble.SessionID, by Reach) {
	if b := p.holders[s]; b != nil {
		p.noteActivity(p.tick(now), b, by)
		p.shares.Touch(&b.share)
	}
}

// SetHost sets the host of a session. Until then its board counts for no host.
func (p *Pool) SetHost(s wamble.SessionID, host share.Host) {
	if b := p.holders[s]; b != nil {
		p.shares.Add(&b.share, b, host)
	}
}

// idleEnough is the silence after which a holder yields to a player of the same host.
const idleEnough = time.Minute

// reclaimShare releases the idlest board of the host that holds most, for a player of another host; see
// share.Table.Yield. Within one host only a holder who was silent for idleEnough yields.
func (p *Pool) reclaimShare(at int64, host share.Host, out intent.Intents) (Released, bool) {
	b := p.shares.Yield(host)
	if b == nil || b.share.Host() == host && at-b.times.lastSeen < idleEnough.Microseconds() {
		return Released{}, false
	}
	return p.release(at, b, TakenBack, out), true
}
