package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// arrive makes an endpoint for a packet from an unknown address, or returns nil
// when it must be dropped. The address joins the session that its token and
// number belong to: a NAT gave the client a new address. A hello begins a session
// of its own, unless it repeats one whose answer is kept.
func (s *Server) arrive(now time.Duration, from wamble.Peer, h wire.Header) *endpoint {
	if !s.makeRoom(now, from) {
		return nil
	}
	sess := s.former(now, from, h)
	switch {
	case sess == nil:
		sess = s.table.addSession()
	case !h.Flags.Unreliable() && sess.win.place(h.Seq) == seen && s.requests.inFlight(sess, h.Seq):
		s.stats.InFlight++
		return nil
	case !h.Flags.Unreliable() && sess.win.place(h.Seq) == behind:
		s.stats.Behind++
		return nil
	case !sess.rebinds.take(now, rebindEvery, rebindBurst):
		s.stats.RebindLimit++
		return nil
	default:
		s.stats.Rebinds++
		s.trimAddresses(sess)
	}
	e := s.table.add(now, from, sess)
	s.table.timers.push(e, now+s.cfg.SessionTimeout)
	s.recall(now, e)
	s.trimSessions(sess, h.Token)
	return e
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

// trimSessions bounds the sessions of a token: the one whose last new request is
// oldest goes. The new session is not in the chain yet.
func (s *Server) trimSessions(sess *session, token wamble.Token) {
	if sess.token == token {
		return
	}
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

// adopt makes e the home of its session after it acknowledged something, and
// moves to it what waits for an ACK elsewhere. Before that, whoever knows a token
// could draw its traffic to an address that never asked for it.
func (s *Server) adopt(now time.Duration, e *endpoint, out Sink) {
	sess := e.sess
	sess.home = e
	s.stats.Moved++
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
