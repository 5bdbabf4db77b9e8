package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// Receive processes a packet and returns its meaning. Duplicates are answered into out at once,
// because what they repeat is already durable. The bytes of b are not kept.
func (s *Server) Receive(now time.Duration, from wamble.Peer, b []byte, out Sink) *Received {
	got := &s.got.Received
	got.Request, got.Packet, got.Granted, got.Rebound = Request{}, nil, wamble.Token{}, false
	got.Verdict = s.receive(now, from, b, out)
	return got
}

func (s *Server) receive(now time.Duration, from wamble.Peer, b []byte, out Sink) Verdict {
	now = s.tick(now)
	s.stats.Packets++
	h := &s.got.packet.Header
	err := h.Read(b)
	if err == nil && h.Ctrl == wire.CtrlAck {
		// The payload of an ACK is ignored.
		return s.receiveAck(now, from, h, len(b), out)
	}
	if err == nil {
		err = s.got.packet.Decode(b)
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
	in := incoming{Header: h, from: from, size: len(b), shown: from.Stream()}
	if h.Ctrl == wire.CtrlClientHello {
		switch s.cookieOf(now, from, &s.got.packet) {
		case badCookie:
			s.challenge(now, from, h, out)
			return Challenged
		case goodCookie:
			in.shown = true
		}
	}
	if v := s.withinLimits(now, &in); v != within {
		return s.limited(now, from, h, len(b), v, out)
	}
	if !h.Flags.Unreliable() {
		in.print = printOf(h.Seq, b)
	}
	rebinds := s.stats.Rebinds
	e := s.locate(now, &in)
	if e == nil {
		return Dropped
	}
	idle := now - e.seen
	s.table.touch(now, e)
	e.received(len(b))
	s.got.Rebound = s.stats.Rebinds != rebinds
	if h.Flags.Unreliable() {
		return s.unreliable(now, e, &in, idle)
	}
	return s.reliable(now, e, &in, idle, out)
}

// incoming is a well-formed request.
type incoming struct {
	*wire.Header // points into Server.got
	from         wamble.Peer
	size         int         // bytes of the packet
	shown        bool        // the sender's address is certain: a connection or a good cookie
	print        fingerprint // set if the request is reliable
}

func (s *Server) dropped(reason *uint64) Verdict {
	*reason++
	return Dropped
}

// limited refuses a request over a rate limit: unreliably, and only the first one in a window.
// The request is not recorded as seen: its repetition may succeed.
func (s *Server) limited(now time.Duration, from wamble.Peer, h *wire.Header, size int, v limitVerdict, out Sink) Verdict {
	s.stats.Limited++
	if v == overTell {
		refusal := wire.Header{Flags: wire.FlagUnreliable, Token: h.Token}
		s.scratch, _ = wire.Append(s.scratch[:0], refusal, wire.Error{Code: wamble.AccessDenied})
		e := s.table.endpoints[from]
		for e != nil && !e.owns(h.Token) {
			e = e.beside
		}
		if e != nil {
			e.received(size)
		}
		// Without an endpoint the request's own bytes cover the refusal.
		if e == nil || s.allow(now, e, len(s.scratch), nil) {
			s.stats.Sent++
			out.Send(from, s.scratch)
		}
	}
	return Limited
}

// reliable handles a reliable request by its place in the session's window. A connection
// delivers each packet once and in order: a number that is behind there is not a late copy, but
// a request that the client repeats under the number it had on another connection.
func (s *Server) reliable(now time.Duration, e *endpoint, in *incoming, idle time.Duration, out Sink) Verdict {
	sess, hello := e.sess, in.Ctrl == wire.CtrlClientHello
	if in.Token.IsZero() && !hello {
		return s.anonymous(now, e, in, out)
	}
	p := sess.win.place(in.Seq)
	reused := p == seen && sess.history.other(in.print)
	switch {
	case p != ahead && s.requests.inFlight(sess, in):
		return s.dropped(&s.stats.InFlight)
	case p == seen && !reused && !(hello && sess.keptAnswer(now, s.cfg.ReplayTTL, in) == nil):
		s.duplicate(now, e, in, out)
		return Duplicate
	case p == behind && !hello && !in.from.Stream():
		return s.dropped(&s.stats.Behind)
	case len(sess.open) >= maxOpen:
		return s.dropped(&s.stats.Busy)
	}
	if p == seen && !reused && in.Token.IsZero() {
		s.got.Granted = sess.granted
	}
	switch {
	case hello && (p == behind || reused || p != ahead && idle >= restartAfter):
		s.restart(sess, in.Seq)
	case hello && !sess.win.used:
		sess.win.restart(in.Seq)
	default:
		sess.win.admit(in.Seq)
	}
	sess.history.add(in.print)
	return s.begin(now, e, in, p == ahead)
}

// anonymous handles a request without a token. It only reads, so it may be executed again, and
// it does not move the window.
func (s *Server) anonymous(now time.Duration, e *endpoint, in *incoming, out Sink) Verdict {
	switch {
	case s.requests.inFlight(e.sess, in):
		return s.dropped(&s.stats.InFlight)
	case e.sess.keptAnswer(now, s.cfg.ReplayTTL, in) != nil:
		s.duplicate(now, e, in, out)
		return Duplicate
	case len(e.sess.open) >= maxOpen:
		return s.dropped(&s.stats.Busy)
	}
	return s.begin(now, e, in, false)
}

// unreliable passes a request to the handler; every copy is executed. A hello with a token is
// how old clients restart: it sets the window.
func (s *Server) unreliable(now time.Duration, e *endpoint, in *incoming, idle time.Duration) Verdict {
	sess := e.sess
	if len(sess.open) >= maxOpen {
		return s.dropped(&s.stats.Busy)
	}
	if in.Ctrl == wire.CtrlClientHello && !in.Token.IsZero() {
		switch p := sess.win.place(in.Seq); {
		case !sess.win.used:
			sess.win.restart(in.Seq)
		case p == ahead:
			sess.win.admit(in.Seq)
		case p == behind || idle >= restartAfter:
			s.restart(sess, in.Seq)
		}
	}
	return s.begin(now, e, in, false)
}

// restart begins a new run of a session's numbers with number seq.
func (s *Server) restart(sess *session, seq uint32) {
	s.dropKept(sess)
	sess.win.restart(seq)
	sess.history = history{}
	sess.epoch++
	s.stats.Restarts++
}

// begin hands a request to the caller. A cookie proves the address of a request, as does the
// token that was vouched for the address. The highest number so far, from a proven address,
// makes that address home.
func (s *Server) begin(now time.Duration, e *endpoint, in *incoming, latest bool) Verdict {
	sess := e.sess
	if !e.proof.proven && s.proves(now, e, in) {
		s.prove(now, e)
	}
	if !in.Token.IsZero() {
		s.bind(sess, in.Token)
		sess.claimed = true
		s.vouchByNeighbour(e, in.Token)
	}
	if latest {
		s.table.promote(sess)
	}
	if latest && e.proof.proven && sess.home != e {
		s.setHome(now, e)
	}
	id := s.requests.add(e, in)
	sess.open = append(sess.open, id.slot)
	s.stats.Requests++
	s.got.Request, s.got.Packet = id, &s.got.packet
	return New
}

// proves reports whether a request proves the address of e.
func (s *Server) proves(now time.Duration, e *endpoint, in *incoming) bool {
	switch {
	case in.shown:
		e.proof.vouched = in.Token
	case in.Token.IsZero():
		return false
	case in.Token != e.proof.vouched:
		if _, ok := s.seals.open(now, offerSeal, e.peer, in.Token); !ok {
			return false
		}
		e.proof.vouched = in.Token
	}
	return true
}

// vouchByNeighbour vouches for a token that another, proven address of the session has used.
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
