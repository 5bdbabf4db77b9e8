package profile

import "wamble/wire"

// goodbye lets a player go; the answer is the ACK alone, also for an unknown
// token. His board is free for others at once, unless he has an identity. Who says
// that he returns keeps his session, and gets the board back if nobody took it.
func (p *Profile) goodbye(r *request, out *Output) verdict {
	returns, _ := r.ext.Int(wire.KeyGoodbyeReturns)
	if r.session != nil {
		p.endVisit(r.session)
	}
	if s := r.session; s != nil && returns == 1 {
		p.boards.Away(p.clock.now, s.ID(), &p.draft)
		p.audience.hall.Leave(s.ID())
		p.sealFor(s, out)
	} else if s != nil {
		p.boards.Leave(p.clock.now, s.ID(), &p.draft)
		p.audience.hall.Leave(s.ID())
		p.waitlist.remove(s.ID())
		p.sealFor(s, out)
		p.sessions.Goodbye(p.clock.now, s)
		r.session = nil
	}
	return done
}
