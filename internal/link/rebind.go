package link

import (
	"time"

	"wamble"
	"wamble/wire"
)

// locate returns the path of a packet, or nil if the packet must be dropped.
func (e *Endpoint) locate(now time.Duration, in *incoming) *path {
	for path := e.table.paths[in.from]; path != nil; path = path.beside {
		if in.from.Stream() || path.takes(in) {
			return path
		}
	}
	return e.arrive(now, in)
}

// arrive creates a path for a packet from an unknown address, or with a token that is new
// there; it returns nil if the packet must be dropped. The address joins the session that fits
// the packet's token and number, as after a NAT change. A hello begins a session of its own,
// unless it repeats one whose answer is kept.
func (e *Endpoint) arrive(now time.Duration, in *incoming) *path {
	if !e.makeRoom(now, in.from) {
		return nil
	}
	sess := e.former(now, in)
	if sess == nil {
		sess = e.table.addSession()
	} else if !e.mayJoin(now, sess, in) {
		return nil
	}
	path := e.table.add(now, in.from, sess)
	if e.cfg.FirstSeq != nil {
		path.out = e.cfg.FirstSeq()
	}
	e.table.timers.push(path, now+e.cfg.SessionTimeout)
	e.recall(now, path, in.Token)
	return path
}

// mayJoin reports whether a packet may add its address to a session, and makes room for the
// address.
func (e *Endpoint) mayJoin(now time.Duration, sess *session, in *incoming) bool {
	if !in.Flags.Unreliable() {
		switch p := sess.win.find(in.Seq); {
		case p == behind:
			e.stats.Behind++
			return false
		case p == seen && e.requests.inFlight(sess, in):
			e.stats.InFlight++
			return false
		}
	}
	if !sess.rebinds.Take(now, 1, rebindLimit) {
		e.stats.RebindLimit++
		return false
	}
	e.stats.Rebinds++
	e.trimAddresses(sess)
	return true
}

// former returns the session that a packet from an unknown address continues, or nil. A hello
// continues only the session whose hello it repeats. Any other request may fit several sessions
// of its token, when the client has reconnected or runs twice; among equal fits the session
// with the latest request is taken.
func (e *Endpoint) former(now time.Duration, in *incoming) *session {
	if in.from.Stream() || in.Token.IsZero() {
		return nil // a connection always has a session of its own
	}
	hello, reliable := in.Ctrl == wire.CtrlClientHello, !in.Flags.Unreliable()
	first := e.table.byToken[in.Token]
	var best *session
	var most fit
	for sess := first; sess != nil; sess = sess.next {
		switch {
		case sess.stream():
		case !hello:
			if f := sess.fit(first, in); best == nil || f.better(most) {
				best, most = sess, f
			}
		case reliable && e.repeats(now, sess, in):
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
	p := s.win.find(in.Seq)
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
func (e *Endpoint) repeats(now time.Duration, sess *session, in *incoming) bool {
	return e.requests.inFlight(sess, in) || sess.findAnswer(now, e.cfg.ReplayTTL, in) != nil
}

// trimAddresses makes room for one more address of a session: it removes the longest silent
// one, except home.
func (e *Endpoint) trimAddresses(sess *session) {
	if len(sess.addrs) < maxAddresses {
		return
	}
	var oldest *path
	for _, a := range sess.addrs {
		if a != sess.home && (oldest == nil || a.seen < oldest.seen) {
			oldest = a
		}
	}
	e.removePath(oldest)
}

// bind makes sess a session of token. The number of sessions per token is bounded: the one
// whose last new request is oldest is removed.
func (e *Endpoint) bind(sess *session, token wamble.Token) {
	if sess.token == token {
		return
	}
	e.trimSessions(token)
	e.table.bindToken(sess, token)
}

// trimSessions makes room for one more session of a token.
func (e *Endpoint) trimSessions(token wamble.Token) {
	n := 1
	for old := e.table.byToken[token]; old != nil; old = old.next {
		if n++; n > maxSessions {
			for i := len(old.addrs) - 1; i >= 0; i-- {
				e.removePath(old.addrs[i])
			}
			return
		}
	}
}

// setHome makes a path the home of its session, to which pushes are sent.
func (e *Endpoint) setHome(now time.Duration, path *path) {
	path.sess.home, path.sess.homeSince = path, now
	e.table.timers.sooner(path, now+1) // the timer of home expires the kept answers
	e.stats.Moved++
}

// migrateTo moves a session to a path that acknowledged a packet sent at a given time: it becomes
// home, and packets that wait for an ACK at other addresses are sent there. Requiring that ACK
// prevents a sender with a stolen token from directing traffic to an address that never asked
// for it.
func (e *Endpoint) migrateTo(now time.Duration, path *path, sent time.Duration, out Sink) {
	sess := path.sess
	if len(sess.addrs) == 1 {
		return
	}
	if sess.home != path {
		if sent < sess.homeSince {
			return // the ACK of a former home was delayed
		}
		e.setHome(now, path)
	}
	for _, a := range sess.addrs {
		if a != path {
			e.moveQueue(now, a, path, out)
		}
	}
}

// moveQueue sends the packets that wait at one address to another, as if they were new. A
// bundle continues with its current chunk.
func (e *Endpoint) moveQueue(now time.Duration, from, to *path, out Sink) {
	for _, p := range from.queue {
		if p.chunk {
			e.pool.drop(p.k) // its bundle holds another reference
		} else {
			e.push(now, to, pending{k: p.k, pushed: p.pushed}, nil, out)
		}
	}
	from.queue = from.queue[:0]
	for _, b := range from.bundles {
		e.addBundle(now, to, b, nil, out)
	}
	from.bundles = from.bundles[:0]
}
