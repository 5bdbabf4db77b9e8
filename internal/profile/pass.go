package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/wire"
)

// pass lets time pass for boards and players.
func (p *Profile) pass(out *Output) {
	if p.mode.stage == running {
		p.release(out)
		p.fill(out)
		p.age(out)
	}
	p.seal(out)
	p.seen.flush(p.clock.since, out)
}

// release takes boards back whose time is over, and gives those of their
// holders who are still there another one.
func (p *Profile) release(out *Output) {
	p.scratch.released = p.boards.Due(p.clock.now, p.scratch.released[:0], &p.draft)
	p.seal(out)
	for _, lost := range p.scratch.released {
		p.lost(lost, out)
	}
}

// lost tells a player that his board was taken from him, and shows him another
// one. Who is not there is let go: he gets a board when he comes back.
func (p *Profile) lost(what board.Released, out *Output) {
	if what.Session == 0 {
		return
	}
	p.stats.Released++
	pl := p.players.byID[what.Session]
	if pl == nil {
		return
	}
	pl.left = what.Board
	p.notify(pl.token, what.Board, wire.ServerNotification{
		Type: wire.NoticeReservationReleased, Text: wire.Text("your board was given back"),
	}, out)
	if pl.at != &p.players.live || what.Why != board.TimedOut {
		if pl.at == &p.players.idle {
			p.depart(pl)
		}
		return
	}
	b, taken, denied := p.seat(pl)
	p.sealFor(pl, out)
	if denied != nil {
		p.pushDenied(pl.token, denied, out)
		return
	}
	p.pushUpdate(pl.token, b, out)
	p.lost(taken, out)
}

// pushDenied tells a player that there is no board for him.
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

// fillAtOnce is how many boards one step makes: a large pool is filled by many
// steps, so that nobody waits long.
const fillAtOnce = 1024

// fill brings the pool up to min-boards, as far as there are numbers.
func (p *Profile) fill(out *Output) {
	if p.short() {
		p.boards.Grow(p.clock.now, min(p.boards.Options().MinBoards, p.boards.Len()+fillAtOnce), &p.draft)
		p.seal(out)
	}
}

// short reports whether boards are missing, and can be made.
func (p *Profile) short() bool {
	o := p.boards.Options()
	return p.boards.Len() < min(o.MinBoards, o.MaxBoards) && p.leases.Left(wamble.BoardIDs) > 0
}

// leased are the sequences of which a profile needs numbers.
var leased = [...]wamble.Sequence{wamble.BoardIDs, wamble.SessionIDs}

// wish asks for numbers that are running out.
func (p *Profile) wish(out *Output) {
	if p.mode.stage == failed {
		return
	}
	for _, s := range leased {
		if n := p.leases.Want(s); n > 0 {
			out.Leases = append(out.Leases, Lease{s, n})
		}
	}
}

// next returns when there is work again.
func (p *Profile) next() time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if at, ok := p.link.Next(); ok {
		sooner(p.clock.at(at))
	}
	if p.mode.stage != running {
		return next
	}
	if at, ok := p.boards.Next(); ok {
		sooner(at)
	}
	if p.short() {
		sooner(p.clock.now)
	}
	if p.seen.n > 0 {
		sooner(p.clock.at(p.seen.since + seenWaits))
	}
	s, ps := &p.cfg.Sessions, &p.players
	for _, wait := range [...]struct {
		last *player
		span time.Duration
	}{{ps.fresh.last, s.UnconfirmedTimeout}, {ps.live.last, p.patience()}, {ps.idle.last, s.TokenExpiration}} {
		if wait.last != nil {
			sooner(p.clock.at(wait.last.heard + wait.span))
		}
	}
	return next
}
