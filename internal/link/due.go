package link

import "time"

// Next returns when Due is to be called, perhaps earlier than Due has work, and false if no
// address is known.
func (s *Server) Next() (time.Duration, bool) {
	if len(s.table.timers) == 0 {
		return 0, false
	}
	return s.table.timers[0].timer.at, true
}

// Due repeats packets whose ACK is late, gives up those that were sent Config.Sends times, and
// drops expired answers and addresses.
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

// dueQueue handles the packets of one endpoint that are due, in order.
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
			// An unproven address gets one copy: the timer only counts down to giving up.
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

// wake returns the time, later than now, at which e next has work.
func (s *Server) wake(now time.Duration, e *endpoint) time.Duration {
	at := e.seen + s.cfg.SessionTimeout
	if at <= now {
		at = now + time.Second // a request is in flight: check again in a second
	}
	for i := range e.queue {
		at = min(at, e.queue[i].due)
	}
	if e.sess.home == e && len(e.sess.kept) > 0 {
		at = min(at, max(e.sess.kept[0].at+s.cfg.ReplayTTL+1, now+1))
	}
	return at
}
