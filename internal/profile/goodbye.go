package profile

// goodbye lets a player go; the answer is the ACK alone, also for an unknown
// token. His board is free for others at once, unless he has an identity.
func (p *Profile) goodbye(r *request, out *Output) verdict {
	if s := r.session; s != nil {
		p.boards.Leave(p.clock.now, s.ID(), &p.draft)
		p.audience.hall.Leave(s.ID())
		p.waitlist.remove(s.ID())
		p.sealFor(s, out)
		p.sessions.Goodbye(p.clock.now, s)
		r.session = nil
	}
	return done
}
