package link

import (
	"slices"
	"time"

	"wamble"
	"wamble/wire"
)

// pending is a packet that waits for its ACK, or for credit.
type pending struct {
	k      *packet
	sends  int           // 0 while it is withheld
	chunk  bool          // it is the current chunk of a bundle of the path
	pushed bool          // it answers no request
	sent   time.Duration // when the first copy was sent
	due    time.Duration // when to send it again or give it up
}

// enqueue sends a reliable packet for the first time. It takes over the caller's
// reference.
func (e *Endpoint) enqueue(now time.Duration, path *path, k *packet, right *exemption, out Sink) {
	e.push(now, path, pending{k: k}, right, out)
}

func (e *Endpoint) push(now time.Duration, path *path, p pending, right *exemption, out Sink) {
	if path.peer.Stream() {
		e.emit(path, p.k, out)
		e.pool.drop(p.k)
		return
	}
	if !p.chunk && e.isOverMemory(p.k.unproven) {
		e.stats.Unkept++
		if e.allow(now, path, len(p.k.buf), right) {
			e.emit(path, p.k, out)
		}
		e.pool.drop(p.k)
		return
	}
	e.shorten(now, path, out)
	e.transmit(now, path, &p, right, out)
	path.queue = append(path.queue, p)
	e.table.timers.sooner(path, p.due)
}

// isOverMemory reports whether packets use all their memory: further ones are sent once and not kept. Those that
// were made for unproven addresses have a share of their own, so that senders who forge addresses take nothing from
// players.
func (e *Endpoint) isOverMemory(unproven bool) bool {
	if unproven {
		return e.pool.unproven > e.cfg.MaxPacketBytes/unprovenShare
	}
	return e.pool.held-e.pool.unproven > e.cfg.MaxPacketBytes
}

// shorten gives up the oldest packets of a full queue, so that a client that never acknowledges
// costs no more than that. An unproven address loses withheld packets first: the ACK of a sent
// one may prove it.
func (e *Endpoint) shorten(now time.Duration, path *path, out Sink) {
	limit := maxQueue
	if !path.proof.proven {
		limit = maxWithheld
	}
	for len(path.queue) >= limit {
		e.stats.GivenUp++
		e.giveUp(now, path, max(path.withheld(), 0), out)
	}
}

// withheld returns the index of the first packet that has not been sent, or -1.
func (p *path) withheld() int {
	return slices.IndexFunc(p.queue, func(p pending) bool { return p.sends == 0 })
}

// transmit sends one copy of p, or withholds it if the path lacks credit.
func (e *Endpoint) transmit(now time.Duration, path *path, p *pending, right *exemption, out Sink) {
	if path.held || !e.allow(now, path, len(p.k.buf), right) {
		if p.sends == 0 {
			e.stats.Withheld++
			p.due = now + withheldTime
		}
		return
	}
	if p.sends == 0 {
		p.sent = now
	}
	p.sends++
	p.due = now + e.backoff.after(&path.rtt, p.sends)
	e.emit(path, p.k, out)
}

// emit passes a packet to the sink.
func (e *Endpoint) emit(path *path, k *packet, out Sink) {
	e.stats.Sent++
	out.Send(path.peer, k.buf)
	if vouches(k.control()) {
		e.vouchFor(path, k)
	}
}

// vouchFor vouches for the token in a SERVER_HELLO or LOGIN_SUCCESS that is sent to a path. A
// session without a token, or of a connection, gets this one, so that pushes reach it.
func (e *Endpoint) vouchFor(path *path, k *packet) {
	token := k.token()
	if token.IsZero() {
		return
	}
	path.proof.vouched = token
	if k.control() == wire.CtrlServerHello {
		path.sess.granted = token
	}
	if path.sess.token.IsZero() || path.peer.Stream() {
		e.bind(path.sess, token)
	}
}

// dequeue removes entry i of the queue, and keeps its packet's reference.
func (p *path) dequeue(i int) pending {
	item := p.queue[i]
	p.queue = append(p.queue[:i], p.queue[i+1:]...)
	return item
}

// giveUp drops entry i of the queue, and the whole bundle if it is a chunk.
func (e *Endpoint) giveUp(now time.Duration, path *path, i int, out Sink) {
	p := path.dequeue(i)
	if p.chunk {
		e.endBundle(now, path, path.bundleOf(p.k), out)
	}
	e.pool.drop(p.k)
}

// endRepeats gives up the answers that were sent to a proven address whose client has never acknowledged a packet,
// and makes its next request: their copies would only come between that request and its ACK.
func (e *Endpoint) endRepeats(path *path) {
	if path.acks || !path.proof.proven {
		return
	}
	for i := 0; i < len(path.queue); {
		p := &path.queue[i]
		if p.sends == 0 || p.pushed {
			i++
			continue
		}
		if p.chunk {
			e.removeBundle(path, path.bundleOf(p.k))
		}
		e.pool.drop(path.dequeue(i).k)
	}
}

// receiveAck processes an ACK: it ends the wait of the first packet with its number and token
// that was sent to this address. A vouched token proves the address.
func (e *Endpoint) receiveAck(now time.Duration, from wamble.Peer, h *wire.Header, size int, out Sink) Verdict {
	path, i := e.table.paths[from], -1
	for ; path != nil; path = path.beside {
		if i = path.waiting(h); i >= 0 || path.owns(h.Token) {
			break
		}
	}
	if path == nil {
		return e.dropped(&e.stats.StrayAcks)
	}
	path.received(size)
	path.acks = true
	if i < 0 {
		e.flush(now, path, nil, out)
		if !from.Stream() && (h.Seq != 0 || h.Token.IsZero() || !path.proof.proven) {
			return e.dropped(&e.stats.StrayAcks)
		}
		e.table.touch(now, path) // a sign of life; over a connection no packet waits for an ACK
		e.got.Packet = &e.got.packet
		return Delivered
	}
	e.stats.Acks++
	e.table.touch(now, path)
	p := path.dequeue(i)
	if p.sends == 1 {
		path.rtt.sample(now - p.sent)
	}
	token := p.k.token()
	if token == h.Token && !token.IsZero() && (path.proof.proven || token == path.proof.vouched) {
		if !path.proof.proven {
			e.prove(now, path)
		}
		path.sess.claimed = true
		if token == path.sess.granted {
			e.bind(path.sess, token) // its hello had another token, which nobody knows
		}
		e.migrateTo(now, path, p.sent, out)
	}
	if p.chunk {
		e.nextChunk(now, path, path.bundleOf(p.k), out)
	}
	e.pool.drop(p.k)
	e.flush(now, path, nil, out)
	e.got.Packet = &e.got.packet
	return Delivered
}

// waiting returns the index of the packet that an ACK acknowledges, or -1.
func (p *path) waiting(h *wire.Header) int {
	for i := range p.queue {
		p := &p.queue[i]
		if p.sends == 0 || p.k.seq() != h.Seq {
			continue
		}
		if p.k.token() == h.Token {
			return i
		}
	}
	return -1
}

// flush sends the withheld packets of a path, in order, as far as credit and right allow.
func (e *Endpoint) flush(now time.Duration, path *path, right *exemption, out Sink) {
	for i := range path.queue {
		if p := &path.queue[i]; p.sends == 0 {
			if !e.table.proven(path) && !right.allows(len(p.k.buf), path.proof.credit) {
				return // keeps the order
			}
			e.transmit(now, path, p, right, out)
			e.table.timers.sooner(path, p.due)
		}
	}
}

// acknowledge sends the ACK of a request, with its token, board and number.
func (e *Endpoint) acknowledge(now time.Duration, path *path, h *wire.Header, out Sink) {
	e.scratch = appendAck(e.scratch[:0], *h)
	if e.allow(now, path, len(e.scratch), nil) {
		e.stats.Sent++
		out.Send(path.peer, e.scratch)
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
