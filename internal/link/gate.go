package link

import (
	"slices"
	"time"

	"wamble"
	"wamble/wire"
)

// held are the outputs that wait for their gate, in the order they were made.
type held struct {
	items []output
	first int    // index of the first unreleased output
	gate  uint64 // the highest gate so far
}

// output is a finished request, or a pushed packet.
type output struct {
	gate   uint64
	slot   uint32 // of the request, if push is nil
	push   *packet
	e      *endpoint
	serial uint64
}

func (o *output) address() *endpoint {
	if o.e.serial != o.serial {
		return nil
	}
	return o.e
}

// add returns a new output behind a gate, for the caller to fill in. Gates do not decrease: a
// lower gate counts as the highest one so far.
func (h *held) add(gate uint64) *output {
	h.gate = max(h.gate, gate)
	h.items = append(h.items, output{})
	o := &h.items[len(h.items)-1]
	o.gate = h.gate
	return o
}

// Held returns how many requests and pushes wait for their gate.
func (s *Server) Held() int { return len(s.held.items) - s.held.first }

// Finish says that a request has all its answers. The ACK and the answers are sent when Release
// reaches the gate.
func (s *Server) Finish(id Request, gate uint64) {
	if r := s.requests.get(id); r != nil {
		r.done = true
		s.held.add(gate).slot = id.slot
	}
}

// Release sends everything up to a gate, in the order it was made: of each request the ACK and
// the reliable answers, then everything unreliable. If a session has several requests in
// flight, all ACKs are sent first, because old clients discard what arrives while they wait for
// an ACK. If it has one, the answer follows its ACK at once, so that the client reads both
// together.
func (s *Server) Release(now time.Duration, gate uint64, out Sink) {
	now = s.tick(now)
	end := s.held.first
	for end < len(s.held.items) && s.held.items[end].gate <= gate {
		end++
	}
	open := s.held.items[s.held.first:end]
	for i := range open {
		s.confirm(now, &open[i], false, out)
	}
	for i := range open {
		s.confirm(now, &open[i], true, out)
		s.deliver(now, &open[i], out)
	}
	for i := range open {
		s.settle(now, &open[i], out)
		open[i] = output{}
	}
	s.held.first = end
	s.held.compact()
}

// confirm sends the ACK of a request if "its session has no other request in flight" equals
// alone.
func (s *Server) confirm(now time.Duration, o *output, alone bool, out Sink) {
	if o.push != nil {
		return
	}
	r := &s.requests.slots[o.slot]
	if e := r.address(); e != nil && !r.unreliably && (len(e.sess.open) == 1) == alone {
		s.acknowledge(now, e, &r.h, out)
	}
}

// compact moves the remaining outputs to the front when at least half are released: under load
// the queue is never empty.
func (h *held) compact() {
	if h.first*2 >= len(h.items) {
		n := copy(h.items, h.items[h.first:])
		clear(h.items[n:])
		h.items, h.first = h.items[:n], 0
	}
}

// deliver sends the reliable packets of an output, and keeps the answers for replay.
func (s *Server) deliver(now time.Duration, o *output, out Sink) {
	if o.push != nil {
		if e := o.address(); e != nil && !o.push.flags().Unreliable() {
			o.push.refs++
			s.enqueue(now, e, o.push, nil, out)
		}
		return
	}
	r := &s.requests.slots[o.slot]
	e := r.address()
	if sess := r.run(); sess != nil && !r.unreliably {
		s.keep(now, sess, r)
	}
	if e == nil {
		return
	}
	right := e.exemptionOf(&r.h, r.size)
	for i := 0; i < len(r.replies); {
		k := r.replies[i]
		n := min(k.fragments(), len(r.replies)-i)
		switch {
		case k.flags().Unreliable():
			i++
		case n > 0:
			s.replayBundle(now, e, r.replies[i:i+n], &right, out)
			i += n
		default:
			k.refs++
			s.enqueue(now, e, k, &right, out)
			i++
		}
	}
	s.flush(now, e, out)
}

// settle sends the unreliable packets of an output and ends it.
func (s *Server) settle(now time.Duration, o *output, out Sink) {
	if o.push != nil {
		s.sendOnce(now, o.address(), o.push, out)
		return
	}
	r := &s.requests.slots[o.slot]
	e := r.address()
	for _, k := range r.replies {
		s.sendOnce(now, e, k, out)
	}
	s.closeRequest(o.slot)
}

// sendOnce sends k if it is unreliable, and drops the output's reference.
func (s *Server) sendOnce(now time.Duration, e *endpoint, k *packet, out Sink) {
	if e != nil && k.flags().Unreliable() && s.allow(now, e, len(k.buf), nil) {
		s.emit(e, k, out)
	}
	s.pool.drop(k)
}

// Push sends an encoded packet, which is not an answer, to every session of a token, behind a
// gate: reliably, unless its flags say otherwise. It sets the sequence number, and returns the
// number of sessions.
func (s *Server) Push(token wamble.Token, packet []byte, gate uint64) int {
	n := 0
	for sess := s.table.byToken[token]; sess != nil; sess = sess.next {
		s.pushTo(sess.home, packet, gate)
		n++
	}
	return n
}

// PushLatest is Push to one session of a token: the one with the latest new request. It reports
// whether there is one.
func (s *Server) PushLatest(token wamble.Token, packet []byte, gate uint64) bool {
	sess := s.table.byToken[token]
	if sess == nil {
		return false
	}
	s.pushTo(sess.home, packet, gate)
	return true
}

// Unseen reports whether a BOARD_UPDATE of a board, pushed to the sender of a request, waits
// for its gate or its ACK: the player may have sent the request before they saw it. For a
// connection only the gate is known.
func (s *Server) Unseen(id Request, board wamble.BoardID) bool {
	r := s.requests.get(id)
	if r == nil || r.address() == nil {
		return false
	}
	pushed := func(k *packet) bool {
		if k.control() != wire.CtrlBoardUpdate || k.flags().Unreliable() {
			return false
		}
		var p wire.Packet
		err := p.Decode(k.buf)
		_, answers := p.Ext.Int(wire.KeyRequestSeq)
		return err == nil && p.Board == board && !answers
	}
	for i := range s.held.items[s.held.first:] {
		if o := &s.held.items[s.held.first+i]; o.push != nil && o.address() == r.e && pushed(o.push) {
			return true
		}
	}
	return slices.ContainsFunc(r.e.queue, func(p pending) bool { return pushed(p.k) })
}

// pushTo puts a packet for e behind a gate.
func (s *Server) pushTo(e *endpoint, packet []byte, gate uint64) {
	k := s.pool.copyOf(packet)
	number(e, k)
	o := s.held.add(gate)
	o.push, o.e, o.serial = k, e, e.serial
}

// number sets the sequence number of a packet for e.
func number(e *endpoint, k *packet) {
	switch {
	case k.flags().Unreliable():
		wire.SetSeq(k.buf, 0)
	case k.control() == wire.CtrlServerHello:
		wire.SetSeq(k.buf, 1) // without using up a number of the counter
	default:
		wire.SetSeq(k.buf, e.nextSeq())
	}
}
