package link

import "time"

// Next returns when Due is to be called, and false when no address is known. It
// may be earlier than Due has something to do.
func (s *Server) Next() (time.Duration, bool) {
	if len(s.table.timers) == 0 {
		return 0, false
	}
	return s.table.timers[0].timer.at, true
}

// Due sends packets again whose ACK is late, gives up those that were sent often
// enough, and forgets kept answers and addresses whose time is over.
func (s *Server) Due(now time.Duration, out Sink) {
	now = s.tick(now)
	for len(s.table.timers) > 0 && s.table.timers[0].timer.at <= now {
		e := s.table.timers[0]
		s.dueQueue(now, e, out)
		s.expireKept(now, e.sess)
		if now-e.seen >= s.cfg.SessionTimeout && len(e.sess.open) == 0 {
			s.stats.Expired++
			s.removeEndpoint(e)
			continue
		}
		s.table.timers.set(e, s.wake(now, e))
	}
}

// dueQueue looks at the packets of one endpoint in order.
func (s *Server) dueQueue(now time.Duration, e *endpoint, out Sink) {
	for i := 0; i < len(e.queue); {
		p := &e.queue[i]
		switch {
		case p.due > now:
			i++
		case p.sends == 0 || p.sends >= s.cfg.Sends:
			s.stats.GivenUp++
			s.giveUp(now, e, i, out)
		case !e.proof.proven:
			// One copy: the timer only counts down to giving up.
			p.sends++
			p.due = now + s.pace.after(&e.rtt, p.sends)
			i++
		default:
			s.stats.Repeated++
			s.transmit(now, e, p, nil, out)
			i++
		}
	}
}

// wake returns when e has work next, later than now.
func (s *Server) wake(now time.Duration, e *endpoint) time.Duration {
	at := e.seen + s.cfg.SessionTimeout
	if at <= now {
		at = now + time.Second // a request is in flight: look again
	}
	for i := range e.queue {
		at = min(at, e.queue[i].due)
	}
	if e.sess.home == e && len(e.sess.kept) > 0 {
		at = min(at, max(e.sess.kept[0].at+s.cfg.ReplayTTL+1, now+1))
	}
	return at
}
