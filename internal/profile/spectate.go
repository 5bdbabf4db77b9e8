package profile

import (
	"wamble/internal/spectate"
	"wamble/wire"
)

// spectate lets a session watch all boards, or one.
func (p *Profile) spectate(r *request, out *Output) verdict {
	p.openSpectators()
	if r.h.Board != 0 && p.boards.Board(r.h.Board) == nil && !p.audience.spectators.Shows(r.h.Board) {
		reply, v := p.askOtherShards(r, BoardRequest{}, out)
		if v != done {
			return v
		}
		if reply != nil && !reply.Sight.Gone {
			p.audience.spectators.Show(reply.Sight.Board)
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
	if err := p.audience.spectators.Watch(p.clock.now, p.viewer(r.session), request, reply); err != nil {
		p.deny(r, deniedOf(err))
	}
	return done
}

// stopSpectating ends watching. It succeeds for every session.
func (p *Profile) stopSpectating(r *request, _ *Output) verdict {
	g := spectate.Viewer{Token: r.h.Token}
	if r.session != nil {
		g.Session = r.session.ID()
	}
	p.audience.spectators.Stop(g, func(packet []byte) { p.link.Reply(r.id, packet) })
	return done
}
