package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// Receive takes a packet and says what it means. Duplicates are answered into
// out at once: what they repeat is already durable. The bytes of b are not kept.
func (s *Server) Receive(now time.Duration, from wamble.Peer, b []byte, out Sink) Received {
	now = s.tick(now)
	s.stats.Packets++
	h, err := wire.Peek(b)
	if err == nil && h.Ctrl == wire.CtrlAck {
		// Junk in the payload of an ACK does not matter.
		return s.receiveAck(now, from, h, len(b), out)
	}
	if err == nil {
		err = s.packet.Decode(b)
	}
	info, known := h.Ctrl.Info()
	switch {
	case err != nil:
		return s.dropped(&s.stats.Malformed)
	case !known:
		return s.dropped(&s.stats.Unknown)
	case h.Token.IsZero() && !info.ZeroToken:
		return s.dropped(&s.stats.NoToken)
	}
	if v := s.limits.check(now, &s.cfg, from, h); v != within {
		return s.limited(now, from, h, len(b), v, out)
	}
	e := s.locate(now, from, h)
	if e == nil {
		return Received{}
	}
	idle := now - e.seen
	s.table.touch(now, e)
	e.received(len(b))
	if h.Flags.Unreliable() {
		return s.unreliable(now, e, h, len(b), idle)
	}
	return s.reliable(now, e, h, len(b), idle, out)
}

func (s *Server) dropped(reason *uint64) Received {
	*reason++
	return Received{}
}

// limited tells a flooding client once in a window, unreliably, and then keeps
// silent. The request is not taken as seen: its repetition may succeed.
func (s *Server) limited(now time.Duration, from wamble.Peer, h wire.Header, size int, v limitVerdict, out Sink) Received {
	s.stats.Limited++
	if v == overTell {
		refusal := wire.Header{Flags: wire.FlagUnreliable, Token: h.Token}
		s.scratch, _ = wire.Append(s.scratch[:0], refusal, wire.Error{Code: wamble.AccessDenied})
		e := s.table.endpoints[from]
		if e != nil {
			e.received(size)
		}
		// Without an endpoint the request's own bytes pay for the refusal.
		if e == nil || s.allow(now, e, len(s.scratch), nil) {
			s.stats.Sent++
			out.Send(from, s.scratch)
		}
	}
	return Received{Verdict: Limited}
}

// reliable sorts a reliable request by its place in the session's window.
func (s *Server) reliable(now time.Duration, e *endpoint, h wire.Header, size int, idle time.Duration, out Sink) Received {
	sess, hello := e.sess, h.Ctrl == wire.CtrlClientHello
	p := sess.win.place(h.Seq)
	switch {
	case p == seen && s.requests.inFlight(sess, h.Seq):
		return s.dropped(&s.stats.InFlight)
	case p == seen && !(hello && sess.keptAnswer(now, s.cfg.ReplayTTL, h.Seq) == nil):
		s.duplicate(now, e, h, size, out)
		return Received{Verdict: Duplicate}
	case p == behind && !hello:
		return s.dropped(&s.stats.Behind)
	case len(sess.open) >= maxOpen:
		return s.dropped(&s.stats.Busy)
	}
	var granted wamble.Token
	if p == seen && h.Token.IsZero() {
		granted = sess.granted
	}
	switch {
	case p == behind || p != ahead && hello && idle >= restartAfter:
		s.restart(sess, h.Seq)
	case hello && !sess.win.used:
		sess.win.restart(h.Seq)
	default:
		sess.win.admit(h.Seq)
	}
	r := s.begin(now, e, h, size, p == ahead)
	r.Granted = granted
	return r
}

// unreliable passes a request on. Every copy is executed. A hello with a token
// is how old clients say that they begin anew: it sets the window.
func (s *Server) unreliable(now time.Duration, e *endpoint, h wire.Header, size int, idle time.Duration) Received {
	sess := e.sess
	if len(sess.open) >= maxOpen {
		return s.dropped(&s.stats.Busy)
	}
	if h.Ctrl == wire.CtrlClientHello && !h.Token.IsZero() {
		switch p := sess.win.place(h.Seq); {
		case !sess.win.used:
			sess.win.restart(h.Seq)
		case p == ahead:
			sess.win.admit(h.Seq)
		case p == behind || idle >= restartAfter:
			s.restart(sess, h.Seq)
		}
	}
	return s.begin(now, e, h, size, false)
}

// restart begins a new run of a session's numbers with a hello.
func (s *Server) restart(sess *session, seq uint32) {
	s.dropKept(sess)
	sess.win.restart(seq)
	sess.epoch++
	s.stats.Restarts++
}

// begin hands a request to the caller. A request with the token that was vouched
// for its address proves the address; the highest number so far, from a proven
// address, shows where the client is now.
func (s *Server) begin(now time.Duration, e *endpoint, h wire.Header, size int, latest bool) Received {
	sess := e.sess
	if !e.proof.proven && !h.Token.IsZero() && h.Token == e.proof.vouched {
		s.prove(now, e)
	}
	if !h.Token.IsZero() {
		s.bind(sess, h.Token)
		sess.claimed = true
		s.vouchByNeighbour(e, h.Token)
	}
	s.table.promote(sess)
	if latest && e.proof.proven && sess.home != e {
		s.settleAt(now, e)
	}
	id := s.requests.add(e, h, size)
	sess.open = append(sess.open, id.slot)
	s.stats.Requests++
	return Received{Verdict: New, Request: id, Packet: &s.packet}
}

// vouchByNeighbour vouches for a token that another, proven address of the
// session has used.
func (s *Server) vouchByNeighbour(e *endpoint, token wamble.Token) {
	if e.proof.proven || len(e.sess.addrs) == 1 {
		return
	}
	for _, a := range e.sess.addrs {
		if a.proof.proven && a.proof.vouched == token {
			e.proof.vouched = token
		}
	}
}
