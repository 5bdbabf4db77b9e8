package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
	"wamble/wire"
)

// runTimers does the work for boards and players that is due by the clock.
func (p *Profile) runTimers(out *Output) {
	p.announce(out)
	p.notifyPrizes(out)
	if p.stage == running && !p.readOnly() {
		p.endOver(out)
		p.releaseExpired(out)
		p.balanceBoards(out)
		p.send(out)
		p.expireSessions(out)
		p.takeTurns(out)
	}
	p.seal(out)
	if !p.readOnly() {
		p.droppable.flush(out)
	}
}

// releaseExpired takes back boards whose reservation is over, and gives players who are still here another board.
func (p *Profile) releaseExpired(out *Output) {
	p.scratch.released = p.boards.Due(p.clock.now, p.scratch.released[:0], &p.frame)
	p.seal(out)
	for _, lost := range p.scratch.released {
		p.revoked(lost, out)
	}
}

// revoked tells a player that the reservation of their board was revoked, and shows them another board. A
// player who is not here gets one when they come back.
func (p *Profile) revoked(what board.Released, out *Output) {
	if what.Session == 0 {
		return
	}
	s := p.sessions.ByID(what.Session)
	if what.Reason != board.HolderReplaced {
		p.stats.Released++
	}
	switch {
	case s == nil:
		return
	case what.Reason == board.HolderGone: // the player is notified when the board is assigned again
		p.endVisit(s)
		p.sessions.NoteBoardLost(what.Session)
		return
	}
	s.SetLastBoard(what.Board)
	p.notify(s.Token(), what.Board, releasedWhy(what.Reason), out)
	if what.Reason == board.HolderReplaced || what.Reason == board.TakenBack || what.Reason == board.HolderLeft ||
		!p.isActive(s) {
		if what.Reason == board.TakenBack && p.isActive(s) {
			p.awaitBoard(s)
		}
		p.sessions.NoteBoardLost(what.Session)
		return
	}
	b, taken, err := p.assignBoard(s)
	p.sealFor(s, out)
	if err != nil {
		p.pushDenied(s.Token(), deniedOf(err), out)
		return
	}
	p.pushUpdate(s, b, out)
	p.revoked(taken, out)
}

// expireSessions ends sessions that were silent for too long, and frees their boards.
func (p *Profile) expireSessions(out *Output) {
	p.sessions.Connected = p.scratch.connected
	p.scratch.ended = p.sessions.Due(p.clock.now, p.scratch.holds, p.scratch.ended[:0])
	for _, e := range p.scratch.ended {
		p.boards.Leave(p.clock.now, e.Session, &p.frame)
		p.audience.spectators.Leave(e.Session)
		if e.End == session.Expired {
			p.notify(e.Token, 0, wire.ServerNotification{Type: wire.NoticeSessionExpired}, out)
		}
	}
}

// pushDenied tells a player why they get no board.
func (p *Profile) pushDenied(token wamble.Token, d *wamble.Denied, out *Output) {
	fields := p.scratch.fields[:0]
	if d.Blocking {
		fields = append(fields, wire.Int(wire.KeyErrorBlocking, 1))
	}
	packet, err := wire.Append(p.scratch.push[:0], wire.Header{Token: token},
		wire.Error{Code: d.Code, Reason: wire.Text(d.Reason)}, fields...)
	if err == nil {
		p.push(token, packet, out)
	}
}

// nextTimer returns when the next work is due, zero if never.
func (p *Profile) nextTimer() time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if at, ok := p.link.Next(); ok {
		sooner(p.clock.at(at))
	}
	if a := &p.announcements; len(a.tokens) > 0 {
		sooner(a.next)
	}
	if at, ok := p.rewards.prizes.Next(); ok {
		sooner(p.clock.at(at))
	}
	if at, ok := p.audience.spectators.Next(); ok && p.stage == running {
		sooner(at)
	}
	if p.stage != running || p.readOnly() {
		return next
	}
	if at, ok := p.boards.Next(); ok {
		sooner(at)
	}
	if !p.balanced() || p.boards.Over() != nil || p.hasTurns() || p.isClearing() && p.boards.Free() > 0 {
		sooner(p.clock.now)
	}
	if p.droppable.n > 0 {
		sooner(p.clock.at(p.droppable.since + droppableDelay))
	}
	if at, ok := p.sessions.Next(); ok {
		sooner(at)
	}
	return next
}
