package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// locate returns the endpoint of a packet, or nil when it must be dropped.
func (s *Server) locate(now time.Duration, from wamble.Peer, h wire.Header) *endpoint {
	e := s.table.endpoints[from]
	if e == nil {
		return s.arrive(now, from, h)
	}
	if e.sess.claimed || h.Token.IsZero() || h.Token == e.sess.token {
		return e
	}
	// Only an anonymous hello came from here so far. It may have been a delayed
	// copy of one that was answered elsewhere.
	sess := s.former(now, from, h)
	if sess == nil || sess == e.sess {
		return e
	}
	if !s.mayJoin(now, sess, h) {
		return nil
	}
	s.leave(e)
	e.sess = sess
	sess.addrs = append(sess.addrs, e)
	return e
}

// arrive makes an endpoint for a packet from an unknown address, or returns nil
// when it must be dropped. The address joins the session that its token and
// number belong to: a NAT gave the client a new address. A hello begins a session
// of its own, unless it repeats one whose answer is kept.
func (s *Server) arrive(now time.Duration, from wamble.Peer, h wire.Header) *endpoint {
	if !s.makeRoom(now, from) {
		return nil
	}
	sess := s.former(now, from, h)
	if sess == nil {
		sess = s.table.addSession()
	} else if !s.mayJoin(now, sess, h) {
		return nil
	}
	e := s.table.add(now, from, sess)
	s.table.timers.push(e, now+s.cfg.SessionTimeout)
	s.recall(now, e)
	return e
}

// mayJoin decides whether a packet brings its session one more address, and
// makes room for it.
func (s *Server) mayJoin(now time.Duration, sess *session, h wire.Header) bool {
	if !h.Flags.Unreliable() {
		switch p := sess.win.place(h.Seq); {
		case p == behind:
			s.stats.Behind++
			return false
		case p == seen && s.requests.inFlight(sess, h.Seq):
			s.stats.InFlight++
			return false
		}
	}
	if !sess.rebinds.take(now, rebindEvery, rebindBurst) {
		s.stats.RebindLimit++
		return false
	}
	s.stats.Rebinds++
	s.trimAddresses(sess)
	return true
}

// former returns the session that a packet from an unknown address continues, or
// nil.
func (s *Server) former(now time.Duration, from wamble.Peer, h wire.Header) *session {
	if from.Stream() || h.Token.IsZero() {
		return nil // a connection is always a client of its own
	}
	hello := h.Ctrl == wire.CtrlClientHello
	for sess := s.table.byToken[h.Token]; sess != nil; sess = sess.next {
		switch {
		case sess.stream():
		case !hello:
			return sess
		case h.Flags.Unreliable():
			return nil
		case s.repeatsHello(now, sess, h.Seq):
			return sess
		}
	}
	return nil
}

// repeatsHello reports whether seq is a hello of the session that is in flight,
// or whose answer is kept.
func (s *Server) repeatsHello(now time.Duration, sess *session, seq uint32) bool {
	for _, i := range sess.open {
		if r := &s.requests.slots[i]; r.h.Seq == seq && r.epoch == sess.epoch {
			return r.h.Ctrl == wire.CtrlClientHello
		}
	}
	t := sess.keptAnswer(now, s.cfg.ReplayTTL, seq)
	return t != nil && t.ctrl == wire.CtrlClientHello
}

// trimAddresses makes room for one more address of a session: the one that was
// silent longest goes, except home.
func (s *Server) trimAddresses(sess *session) {
	if len(sess.addrs) < maxAddresses {
		return
	}
	var oldest *endpoint
	for _, a := range sess.addrs {
		if a != sess.home && (oldest == nil || a.seen < oldest.seen) {
			oldest = a
		}
	}
	s.removeEndpoint(oldest)
}

// bind makes sess a session of token. A token has a bounded number of them: the
// one whose last new request is oldest goes.
func (s *Server) bind(sess *session, token wamble.Token) {
	if sess.token == token {
		return
	}
	s.trimSessions(token)
	s.table.bindToken(sess, token)
}

// trimSessions makes room for one more session of a token.
func (s *Server) trimSessions(token wamble.Token) {
	n := 1
	for old := s.table.byToken[token]; old != nil; old = old.next {
		if n++; n > maxSessions {
			for i := len(old.addrs) - 1; i >= 0; i-- {
				s.removeEndpoint(old.addrs[i])
			}
			return
		}
	}
}

// settleAt makes e the home of its session: pushes go there.
func (s *Server) settleAt(now time.Duration, e *endpoint) {
	e.sess.home, e.sess.homeSince = e, now
	s.table.timers.sooner(e, now+1) // it now looks after the kept answers
	s.stats.Moved++
}

// adopt makes e the home of its session after it acknowledged something, and
// moves to it what waits for an ACK elsewhere. Before that, whoever knows a token
// could draw its traffic to an address that never asked for it.
func (s *Server) adopt(now time.Duration, e *endpoint, out Sink) {
	sess := e.sess
	s.settleAt(now, e)
	for _, a := range sess.addrs {
		if a == e {
			continue
		}
		for _, p := range a.queue {
			if p.chunk {
				s.pool.drop(p.k)
				continue
			}
			s.enqueue(now, e, p.k, nil, out)
		}
		a.queue = a.queue[:0]
		for i := range a.bundles {
			s.addBundle(now, e, a.bundles[i], nil, out)
		}
		a.bundles = a.bundles[:0]
	}
}
