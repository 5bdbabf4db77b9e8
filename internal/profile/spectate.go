package profile

import (
	"wamble/internal/spectate"
	"wamble/wire"
)

// spectate lets a session watch all boards, or one.
func (p *Profile) spectate(r *request, out *Output) verdict {
	p.openHall()
	if r.h.Board != 0 && p.boards.Board(r.h.Board) == nil && !p.audience.hall.Shows(r.h.Board) {
		told, v := p.elsewhere(r, Ask{}, out)
		if v != done {
			return v
		}
		if told != nil && !told.Sight.Gone {
			p.audience.hall.Show(told.Sight.Board)
		}
	}
	request := spectate.Request{Board: r.h.Board}
	switch r.h.Flags & (wire.FlagFilterChess960 | wire.FlagFilterStandard) {
	case wire.FlagFilterChess960:
		request.Filter = spectate.Chess960Boards
	case wire.FlagFilterStandard:
		request.Filter = spectate.StandardBoards
	}
	reply := func(packet []byte) { p.link.Reply(r.id, packet) }
	if err := p.audience.hall.Watch(p.clock.now, p.guest(r.session), request, reply); err != nil {
		p.deny(r, deniedOf(err))
	}
	return done
}

// stopSpectating ends watching. It succeeds for every session.
func (p *Profile) stopSpectating(r *request, _ *Output) verdict {
	g := spectate.Guest{Token: r.h.Token}
	if r.session != nil {
		g.Session = r.session.ID()
	}
	p.audience.hall.Stop(g, func(packet []byte) { p.link.Reply(r.id, packet) })
	return done
}
