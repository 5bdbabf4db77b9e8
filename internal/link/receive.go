package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// Receive processes a packet and returns its meaning. Duplicates are answered into out at once,
// because what they repeat is already durable. The bytes of b are not kept.
func (e *Endpoint) Receive(now time.Duration, from wamble.Peer, b []byte, out Sink) *Received {
	got := &e.got.Received
	got.Request, got.Packet, got.Granted, got.Rebound = Request{}, nil, wamble.Token{}, false
	got.Verdict = e.receive(now, from, b, out)
	return got
}

func (e *Endpoint) receive(now time.Duration, from wamble.Peer, b []byte, out Sink) Verdict {
	now = e.tick(now)
	e.stats.Packets++
	h := &e.got.packet.Header
	err := h.Read(b)
	if err == nil && h.Ctrl == wire.CtrlAck {
		// The payload of an ACK is ignored.
		return e.receiveAck(now, from, h, len(b), out)
	}
	if err == nil {
		err = e.got.packet.Decode(b)
	}
	info, known := h.Ctrl.Info()
	switch {
	case err != nil:
		return e.dropped(&e.stats.Malformed)
	case !known:
		return e.dropped(&e.stats.Unknown)
	case h.Token.IsZero() && !info.ZeroToken:
		return e.dropped(&e.stats.NoToken)
	}
	in := incoming{Header: h, from: from, size: len(b), shown: from.Stream()}
	if h.Ctrl == wire.CtrlClientHello {
		switch e.cookieOf(now, from, &e.got.packet) {
		case badCookie:
			e.challenge(now, from, h, out)
			return Challenged
		case goodCookie:
			in.shown = true
		}
	}
	if v := e.withinLimits(now, &in); v != within {
		return e.limited(now, from, h, len(b), v, out)
	}
	if !h.Flags.Unreliable() {
		in.print = printOf(h.Seq, b)
	}
	rebinds := e.stats.Rebinds
	path := e.locate(now, &in)
	if path == nil {
		return Dropped
	}
	idle := now - path.seen
	e.table.touch(now, path)
	path.received(len(b))
	e.got.Rebound = e.stats.Rebinds != rebinds
	if h.Flags.Unreliable() {
		return e.unreliable(now, path, &in, idle)
	}
	return e.reliable(now, path, &in, idle, out)
}

// incoming is a well-formed request.
type incoming struct {
	*wire.Header // points into Endpoint.got
	from         wamble.Peer
	size         int         // bytes of the packet
	shown        bool        // the sender's address is certain: a connection or a good cookie
	print        fingerprint // set if the request is reliable
}

func (e *Endpoint) dropped(reason *uint64) Verdict {
	*reason++
	return Dropped
}

// limited refuses a request over a rate limit: unreliably, and only the first one in a window.
// The request is not recorded as seen: its repetition may succeed.
func (e *Endpoint) limited(now time.Duration, from wamble.Peer, h *wire.Header, size int, v limitVerdict,
	out Sink) Verdict {
	e.stats.Limited++
	if v == overWarn {
		refusal := wire.Header{Flags: wire.FlagUnreliable, Token: h.Token}
		e.scratch, _ = wire.Append(e.scratch[:0], refusal, wire.Error{Code: wamble.AccessDenied})
		path := e.table.paths[from]
		for path != nil && !path.owns(h.Token) {
			path = path.beside
		}
		if path != nil {
			path.received(size)
		}
		// Without a path the request's own bytes cover the refusal.
		if path == nil || e.allow(now, path, len(e.scratch), nil) {
			e.stats.Sent++
			out.Send(from, e.scratch)
		}
	}
	return Limited
}

// reliable handles a reliable request by its place in the session's window. A connection
// delivers each packet once and in order: a number that is behind there is not a late copy, but
// a request that the client repeats under the number it had on another connection.
func (e *Endpoint) reliable(now time.Duration, path *path, in *incoming, idle time.Duration, out Sink) Verdict {
	sess, hello := path.sess, in.Ctrl == wire.CtrlClientHello
	if in.Token.IsZero() && !hello {
		return e.anonymous(now, path, in, out)
	}
	p := sess.win.find(in.Seq)
	reused := p == seen && sess.history.other(in.print)
	switch {
	case p != ahead && e.requests.inFlight(sess, in):
		return e.dropped(&e.stats.InFlight)
	case p == seen && !reused && !(hello && sess.findAnswer(now, e.cfg.ReplayTTL, in) == nil):
		e.duplicate(now, path, in, out)
		return Duplicate
	case p == behind && !hello && !in.from.Stream():
		return e.dropped(&e.stats.Behind)
	case len(sess.open) >= maxOpen:
		return e.dropped(&e.stats.Busy)
	}
	if p == seen && !reused && in.Token.IsZero() {
		e.got.Granted = sess.granted
	}
	switch {
	case hello && (p == behind || reused || p != ahead && idle >= restartAfter):
		e.restart(sess, in.Seq)
	case hello && !sess.win.used:
		sess.win.restart(in.Seq)
	default:
		sess.win.admit(in.Seq)
	}
	sess.history.add(in.print)
	return e.begin(now, path, in, p == ahead)
}

// anonymous handles a request without a token. It only reads, so it may be executed again, and
// it does not move the window.
func (e *Endpoint) anonymous(now time.Duration, path *path, in *incoming, out Sink) Verdict {
	switch {
	case e.requests.inFlight(path.sess, in):
		return e.dropped(&e.stats.InFlight)
	case path.sess.findAnswer(now, e.cfg.ReplayTTL, in) != nil:
		e.duplicate(now, path, in, out)
		return Duplicate
	case len(path.sess.open) >= maxOpen:
		return e.dropped(&e.stats.Busy)
	}
	return e.begin(now, path, in, false)
}

// unreliable passes a request to the handler; every copy is executed. A hello with a token is
// how old clients restart: it sets the window.
func (e *Endpoint) unreliable(now time.Duration, path *path, in *incoming, idle time.Duration) Verdict {
	sess := path.sess
	if len(sess.open) >= maxOpen {
		return e.dropped(&e.stats.Busy)
	}
	if in.Ctrl == wire.CtrlClientHello && !in.Token.IsZero() {
		switch p := sess.win.find(in.Seq); {
		case !sess.win.used:
			sess.win.restart(in.Seq)
		case p == ahead:
			sess.win.admit(in.Seq)
		case p == behind || idle >= restartAfter:
			e.restart(sess, in.Seq)
		}
	}
	return e.begin(now, path, in, false)
}

// restart begins a new run of a session's numbers with number seq.
func (e *Endpoint) restart(sess *session, seq uint32) {
	e.dropAnswers(sess)
	sess.win.restart(seq)
	sess.history = history{}
	sess.epoch++
	e.stats.Restarts++
}

// begin hands a request to the caller. A cookie proves the address of a request, as does the
// token that was vouched for the address. The highest number so far, from a proven address,
// makes that address home.
func (e *Endpoint) begin(now time.Duration, path *path, in *incoming, latest bool) Verdict {
	sess := path.sess
	if !path.proof.proven && e.proves(now, path, in) {
		e.prove(now, path)
	}
	if !in.Token.IsZero() {
		e.bind(sess, in.Token)
		sess.claimed = true
		e.vouchByNeighbour(path, in.Token)
	}
	sess.readsAll = sess.readsAll || e.got.packet.Ext.HasOurs()
	if latest {
		e.table.promote(sess)
	}
	if latest && path.proof.proven && sess.home != path {
		e.setHome(now, path)
	}
	e.endRepeats(path)
	id := e.requests.add(path, in)
	sess.open = append(sess.open, id.slot)
	e.stats.Requests++
	e.got.Request, e.got.Packet = id, &e.got.packet
	return New
}

// proves reports whether a request proves the address of path.
func (e *Endpoint) proves(now time.Duration, path *path, in *incoming) bool {
	switch {
	case in.shown:
		path.proof.vouched = in.Token
	case in.Token.IsZero():
		return false
	case in.Token != path.proof.vouched:
		if _, ok := e.seals.open(now, offerSeal, path.peer, in.Token); !ok {
			return false
		}
		path.proof.vouched = in.Token
	}
	return true
}

// vouchByNeighbour vouches for a token that another, proven address of the session has used.
func (e *Endpoint) vouchByNeighbour(path *path, token wamble.Token) {
	if path.proof.proven || len(path.sess.addrs) == 1 {
		return
	}
	for _, a := range path.sess.addrs {
		if a.proof.proven && a.proof.vouched == token {
			path.proof.vouched = token
		}
	}
}
