package link

import "time"

// Next returns when Due is to be called, perhaps earlier than Due has work, and false if no
// address is known.
func (e *Endpoint) Next() (time.Duration, bool) {
	if len(e.table.timers) == 0 {
		return 0, false
	}
	return e.table.timers[0].timer.at, true
}

// Due repeats packets whose ACK is late, gives up those that were sent Config.Sends times, and
// drops expired answers and addresses.
func (e *Endpoint) Due(now time.Duration, out Sink) {
	now = e.tick(now)
	for len(e.table.timers) > 0 && e.table.timers[0].timer.at <= now {
		path := e.table.timers[0]
		e.dueQueue(now, path, out)
		e.expireAnswers(now, path.sess)
		if now-path.seen >= e.cfg.SessionTimeout && len(path.sess.open) == 0 {
			e.stats.Expired++
			e.removePath(path)
			continue
		}
		e.table.timers.set(path, e.wake(now, path))
	}
}

// dueQueue handles the packets of one path that are due, in order.
func (e *Endpoint) dueQueue(now time.Duration, path *path, out Sink) {
	for i := 0; i < len(path.queue); {
		p := &path.queue[i]
		switch {
		case p.due > now:
			i++
		case p.sends == 0 || p.sends >= e.cfg.Sends:
			e.stats.GivenUp++
			e.giveUp(now, path, i, out)
		case !path.proof.proven:
			// An unproven address gets one copy: the timer only counts down to giving up.
			p.sends++
			p.due = now + e.backoff.after(&path.rtt, p.sends)
			i++
		default:
			e.stats.Repeated++
			e.transmit(now, path, p, nil, out)
			i++
		}
	}
}

// wake returns the time, later than now, at which a path next has work.
func (e *Endpoint) wake(now time.Duration, path *path) time.Duration {
	at := path.seen + e.cfg.SessionTimeout
	if at <= now {
		at = now + time.Second // a request is in flight: check again in a second
	}
	for i := range path.queue {
		at = min(at, path.queue[i].due)
	}
	if path.sess.home == path && len(path.sess.answers) > 0 {
		at = min(at, max(path.sess.answers[0].at+e.cfg.ReplayTTL+1, now+1))
	}
	return at
}
