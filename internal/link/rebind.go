package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// locate returns the endpoint of a packet, or nil if the packet must be dropped.
func (s *Server) locate(now time.Duration, in *incoming) *endpoint {
	for e := s.table.endpoints[in.from]; e != nil; e = e.beside {
		if in.from.Stream() || e.takes(in) {
			return e
		}
	}
	return s.arrive(now, in)
}

// arrive creates an endpoint for a packet from an unknown address, or with a token that is new
// there; it returns nil if the packet must be dropped. The address joins the session that fits
// the packet's token and number, as after a NAT change. A hello begins a session of its own,
// unless it repeats one whose answer is kept.
func (s *Server) arrive(now time.Duration, in *incoming) *endpoint {
	if !s.makeRoom(now, in.from) {
		return nil
	}
	sess := s.former(now, in)
	if sess == nil {
		sess = s.table.addSession()
	} else if !s.mayJoin(now, sess, in) {
		return nil
	}
	e := s.table.add(now, in.from, sess)
	if s.cfg.FirstSeq != nil {
		e.out = s.cfg.FirstSeq()
	}
	s.table.timers.push(e, now+s.cfg.SessionTimeout)
	s.recall(now, e, in.Token)
	return e
}

// mayJoin reports whether a packet may add its address to a session, and makes room for the
// address.
func (s *Server) mayJoin(now time.Duration, sess *session, in *incoming) bool {
	if !in.Flags.Unreliable() {
		switch p := sess.win.place(in.Seq); {
		case p == behind:
			s.stats.Behind++
			return false
		case p == seen && s.requests.inFlight(sess, in):
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

// former returns the session that a packet from an unknown address continues, or nil. A hello
// continues only the session whose hello it repeats. Any other request may fit several sessions
// of its token, when the client has reconnected or runs twice; among equal fits the session
// with the latest request is taken.
func (s *Server) former(now time.Duration, in *incoming) *session {
	if in.from.Stream() || in.Token.IsZero() {
		return nil // a connection always has a session of its own
	}
	hello, reliable := in.Ctrl == wire.CtrlClientHello, !in.Flags.Unreliable()
	first := s.table.byToken[in.Token]
	var best *session
	var most fit
	for sess := first; sess != nil; sess = sess.next {
		switch {
		case sess.stream():
		case !hello:
			if f := sess.fit(first, in); best == nil || f.better(most) {
				best, most = sess, f
			}
		case reliable && s.repeats(now, sess, in):
			return sess
		}
	}
	return best
}

// fit rates how well a request fits a session.
type fit struct {
	rank     int
	distance uint32 // of a number that is far ahead, else 0
}

// The ranks of a fit, worst first.
const (
	seenHere     = iota // the number was seen, or is too old
	leftBehind          // the number is ahead, but a later session covers it
	fitsHere            // the number is missing, or ahead
	executedHere        // the session has executed this very request
)

// nearby is how far ahead a client's next number may be when some of its packets were lost.
const nearby = 8

// fit rates a request against s, a session in the chain that begins with first.
func (s *session) fit(first *session, in *incoming) fit {
	p := s.win.place(in.Seq)
	switch {
	case s.history.has(in.print):
		return fit{rank: executedHere}
	case p == seen || p == behind:
		return fit{rank: seenHere}
	case p == ahead && s.overtaken(first, in.Seq):
		return fit{rank: leftBehind}
	}
	if d := in.Seq - s.win.max; p == ahead && d > nearby {
		return fit{fitsHere, d}
	}
	return fit{rank: fitsHere}
}

// overtaken reports whether another session began above all numbers of s, and not above seq:
// the client has reconnected and continued its numbers. A session that began before s counts
// only if it is near: then the hello of s was late.
func (s *session) overtaken(first *session, seq uint32) bool {
	for t := first; t != nil; t = t.next {
		d := int32(t.win.low - s.win.max)
		if d > 0 && (t.serial > s.serial || d <= nearby) && int32(seq-t.win.low) >= 0 {
			return true
		}
	}
	return false
}

func (f fit) better(than fit) bool {
	if f.rank != than.rank {
		return f.rank > than.rank
	}
	return f.distance < than.distance
}

// repeats reports whether in repeats a request of the session that is in flight or whose answer
// is kept.
func (s *Server) repeats(now time.Duration, sess *session, in *incoming) bool {
	return s.requests.inFlight(sess, in) || sess.keptAnswer(now, s.cfg.ReplayTTL, in) != nil
}

// trimAddresses makes room for one more address of a session: it removes the longest silent
// one, except home.
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

// bind makes sess a session of token. The number of sessions per token is bounded: the one
// whose last new request is oldest is removed.
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

// setHome makes e the home of its session, to which pushes are sent.
func (s *Server) setHome(now time.Duration, e *endpoint) {
	e.sess.home, e.sess.homeSince = e, now
	s.table.timers.sooner(e, now+1) // the timer of home expires the kept answers
	s.stats.Moved++
}

// follow moves a session to e after e acknowledged a packet sent at a given time: e becomes
// home, and packets that wait for an ACK at other addresses are sent to e. Requiring that ACK
// prevents a sender with a stolen token from directing traffic to an address that never asked
// for it.
func (s *Server) follow(now time.Duration, e *endpoint, sent time.Duration, out Sink) {
	sess := e.sess
	if len(sess.addrs) == 1 {
		return
	}
	if sess.home != e {
		if sent < sess.homeSince {
			return // the ACK of a former home was delayed
		}
		s.setHome(now, e)
	}
	for _, a := range sess.addrs {
		if a != e {
			s.moveQueue(now, a, e, out)
		}
	}
}

// moveQueue sends the packets that wait at one address to another, as if they were new. A
// bundle continues with its current chunk.
func (s *Server) moveQueue(now time.Duration, from, to *endpoint, out Sink) {
	for _, p := range from.queue {
		if p.chunk {
			s.pool.drop(p.k) // its bundle holds another reference
		} else {
			s.enqueue(now, to, p.k, nil, out)
		}
	}
	from.queue = from.queue[:0]
	for _, b := range from.bundles {
		s.addBundle(now, to, b, nil, out)
	}
	from.bundles = from.bundles[:0]
}
