package profile

import "wamble/wire"

// goodbye ends a player's session; the answer is the ACK alone, also for an unknown token. The board
// becomes free at once, unless the player has an identity. A player who says that they will return keeps
// the session, and gets the board back unless it was assigned meanwhile.
func (p *Profile) goodbye(r *request, out *Output) verdict {
	returns, _ := r.ext.Int(wire.KeyGoodbyeReturns)
	if r.session != nil {
		p.endVisit(r.session)
	}
	if s := r.session; s != nil && returns == 1 {
		p.boards.Away(p.clock.now, s.ID(), &p.frame)
		p.audience.spectators.Leave(s.ID())
		p.sealFor(s, out)
	} else if s != nil {
		p.boards.Leave(p.clock.now, s.ID(), &p.frame)
		p.audience.spectators.Leave(s.ID())
		p.waitlist.remove(s.ID())
		p.sealFor(s, out)
		p.sessions.Goodbye(p.clock.now, s)
		r.session = nil
	}
	return done
}
