package link

import (
	"slices"
	"time"

	"wamble"
	"wamble/wire"
)

// pending is a packet that waits for its ACK, or for credit.
type pending struct {
	k     *packet
	sends int           // 0 while it is withheld
	chunk bool          // it is the current chunk of the endpoint's first bundle
	sent  time.Duration // when the first copy was sent
	due   time.Duration // when to send it again or give it up
}

// enqueue sends a reliable packet for the first time. It takes over the caller's
// reference.
func (s *Server) enqueue(now time.Duration, e *endpoint, k *packet, right *exemption, out Sink) {
	s.push(now, e, pending{k: k}, right, out)
}

func (s *Server) push(now time.Duration, e *endpoint, p pending, right *exemption, out Sink) {
	if e.peer.Stream() {
		s.emit(e, p.k, out)
		s.pool.drop(p.k)
		return
	}
	if !p.chunk && s.crowded() {
		s.stats.Unkept++
		if s.allow(now, e, len(p.k.buf), right) {
			s.emit(e, p.k, out)
		}
		s.pool.drop(p.k)
		return
	}
	s.shorten(now, e, out)
	s.transmit(now, e, &p, right, out)
	e.queue = append(e.queue, p)
	s.table.timers.sooner(e, p.due)
}

// crowded reports whether packets use all the memory of MaxPacketBytes: further ones are sent
// once and not kept.
func (s *Server) crowded() bool { return s.pool.held > s.cfg.MaxPacketBytes }

// shorten gives up the oldest packets of a full queue, so that a client that never acknowledges
// costs no more than that. An unproven address loses withheld packets first: the ACK of a sent
// one may prove it.
func (s *Server) shorten(now time.Duration, e *endpoint, out Sink) {
	limit := maxQueue
	if !e.proof.proven {
		limit = maxWithheld
	}
	for len(e.queue) >= limit {
		s.stats.GivenUp++
		s.giveUp(now, e, max(e.withheld(), 0), out)
	}
}

// withheld returns the index of the first packet that has not been sent, or -1.
func (e *endpoint) withheld() int {
	return slices.IndexFunc(e.queue, func(p pending) bool { return p.sends == 0 })
}

// transmit sends one copy of p, or withholds it if e lacks credit.
func (s *Server) transmit(now time.Duration, e *endpoint, p *pending, right *exemption, out Sink) {
	if !s.allow(now, e, len(p.k.buf), right) {
		if p.sends == 0 {
			s.stats.Withheld++
			p.due = now + withheldTime
		}
		return
	}
	if p.sends == 0 {
		p.sent = now
	}
	p.sends++
	p.due = now + s.pace.after(&e.rtt, p.sends)
	s.emit(e, p.k, out)
}

// emit passes a packet to the sink.
func (s *Server) emit(e *endpoint, k *packet, out Sink) {
	s.stats.Sent++
	out.Send(e.peer, k.buf)
	if vouches(k.control()) {
		s.vouchFor(e, k)
	}
}

// vouchFor vouches for the token in a SERVER_HELLO or LOGIN_SUCCESS that is sent to e. A
// session without a token gets this one, so that pushes reach it.
func (s *Server) vouchFor(e *endpoint, k *packet) {
	token := k.token()
	if token.IsZero() {
		return
	}
	e.proof.vouched = token
	if k.control() == wire.CtrlServerHello {
		e.sess.granted = token
	}
	if e.sess.token.IsZero() {
		s.bind(e.sess, token)
	}
}

// dequeue removes entry i of the queue, and keeps its packet's reference.
func (e *endpoint) dequeue(i int) pending {
	p := e.queue[i]
	e.queue = append(e.queue[:i], e.queue[i+1:]...)
	return p
}

// giveUp drops entry i of the queue, and the whole bundle if it is a chunk.
func (s *Server) giveUp(now time.Duration, e *endpoint, i int, out Sink) {
	p := e.dequeue(i)
	s.pool.drop(p.k)
	if p.chunk {
		s.endBundle(now, e, out)
	}
}

// receiveAck processes an ACK: it ends the wait of the first packet with its number and token
// that was sent to this address. A vouched token proves the address.
func (s *Server) receiveAck(now time.Duration, from wamble.Peer, h *wire.Header, size int, out Sink) Verdict {
	e, i := s.table.endpoints[from], -1
	for ; e != nil; e = e.beside {
		if i = e.waiting(h); i >= 0 || e.owns(h.Token) {
			break
		}
	}
	if e == nil {
		return s.dropped(&s.stats.StrayAcks)
	}
	e.received(size)
	if i < 0 {
		s.flush(now, e, out)
		if h.Seq == 0 && !h.Token.IsZero() && (e.proof.proven || from.Stream()) { // shows that the client is alive
			s.table.touch(now, e)
			s.got.Packet = &s.got.packet
			return Delivered
		}
		return s.dropped(&s.stats.StrayAcks)
	}
	s.stats.Acks++
	s.table.touch(now, e)
	p := e.dequeue(i)
	if p.sends == 1 {
		e.rtt.sample(now - p.sent)
	}
	token := p.k.token()
	s.pool.drop(p.k)
	if token == h.Token && !token.IsZero() && (e.proof.proven || token == e.proof.vouched) {
		if !e.proof.proven {
			s.prove(now, e)
		}
		e.sess.claimed = true
		s.follow(now, e, p.sent, out)
	}
	if p.chunk {
		s.nextChunk(now, e, out)
	}
	s.flush(now, e, out)
	s.got.Packet = &s.got.packet
	return Delivered
}

// waiting returns the index of the packet that an ACK acknowledges, or -1.
func (e *endpoint) waiting(h *wire.Header) int {
	for i := range e.queue {
		p := &e.queue[i]
		if p.sends == 0 || p.k.seq() != h.Seq {
			continue
		}
		if p.k.token() == h.Token {
			return i
		}
	}
	return -1
}

// flush sends the withheld packets of e, in order, as far as the credit allows.
func (s *Server) flush(now time.Duration, e *endpoint, out Sink) {
	for i := range e.queue {
		if p := &e.queue[i]; p.sends == 0 {
			if len(p.k.buf) > e.proof.credit && !s.table.proven(e) {
				return // keeps the order
			}
			s.transmit(now, e, p, nil, out)
			s.table.timers.sooner(e, p.due)
		}
	}
}

// acknowledge sends the ACK of a request, with its token, board and number.
func (s *Server) acknowledge(now time.Duration, e *endpoint, h *wire.Header, out Sink) {
	s.scratch = appendAck(s.scratch[:0], *h)
	if s.allow(now, e, len(s.scratch), nil) {
		s.stats.Sent++
		out.Send(e.peer, s.scratch)
	}
}

// appendAck encodes the ACK of a packet with header h.
func appendAck(dst []byte, h wire.Header) []byte {
	dst, err := wire.Append(dst, wire.Header{Token: h.Token, Board: h.Board, Seq: h.Seq}, wire.Ack{})
	if err != nil {
		panic("link: an ACK has no payload to fail on: " + err.Error())
	}
	return dst
}
