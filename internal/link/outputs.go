package link

import (
	"slices"
	"time"

	"wamble"
	"wamble/wire"
)

// heldOutputs are the outputs that wait for their durable index, in the order they were made.
type heldOutputs struct {
	items        []output
	first        int    // index of the first unreleased output
	durableIndex uint64 // the highest durable index so far
}

// output is a finished request, or a pushed packet.
type output struct {
	durableIndex uint64
	slot         uint32 // of the request, if push is nil
	push         *packet
	path         *path
	serial       uint64
}

func (o *output) address() *path {
	if o.path.serial != o.serial {
		return nil
	}
	return o.path
}

// add returns a new output behind a durable index, for the caller to fill in. Outputs leave in
// order: a lower durable index counts as the highest one so far.
func (h *heldOutputs) add(durableIndex uint64) *output {
	h.durableIndex = max(h.durableIndex, durableIndex)
	h.items = append(h.items, output{})
	o := &h.items[len(h.items)-1]
	o.durableIndex = h.durableIndex
	return o
}

// Held returns how many requests and pushes wait for their durable index.
func (e *Endpoint) Held() int { return len(e.outputs.items) - e.outputs.first }

// Finish says that a request has all its answers. The ACK and the answers are sent when Release
// reaches the durable index.
func (e *Endpoint) Finish(id Request, durableIndex uint64) {
	if r := e.requests.get(id); r != nil {
		r.done = true
		e.outputs.add(durableIndex).slot = id.slot
	}
}

// Release sends everything up to a durable index, in the order it was made: of each request the ACK and
// the reliable answers, then everything unreliable. If a session has several requests in
// flight, all ACKs are sent first, because old clients discard what arrives while they wait for
// an ACK. If it has one, the answer follows its ACK at once, so that the client reads both
// together.
func (e *Endpoint) Release(now time.Duration, durableIndex uint64, out Sink) {
	now = e.tick(now)
	end := e.outputs.first
	for end < len(e.outputs.items) && e.outputs.items[end].durableIndex <= durableIndex {
		end++
	}
	open := e.outputs.items[e.outputs.first:end]
	for i := range open {
		e.confirm(now, &open[i], false, out)
	}
	for i := range open {
		e.confirm(now, &open[i], true, out)
		e.deliver(now, &open[i], out)
	}
	for i := range open {
		e.sendUnreliable(now, &open[i], out)
		open[i] = output{}
	}
	e.outputs.first = end
	e.outputs.compact()
}

// confirm sends the ACK of a request: if alone, only if its session has no other request in
// flight, otherwise only if it has. If an unproven address has no credit for the answer, ACK and answer are held: repetitions of the request
// raise the credit until both can be sent.
func (e *Endpoint) confirm(now time.Duration, o *output, alone bool, out Sink) {
	if o.push != nil {
		return
	}
	r := &e.requests.slots[o.slot]
	path := r.address()
	if path == nil || r.unreliably || (len(path.sess.open) == 1) != alone {
		return
	}
	if r.refused {
		r.forget()
		return
	}
	if r.held = !e.canAnswer(now, path, firstSize(r.replies), path.exemptionOf(&r.h, r.size)); !r.held {
		e.acknowledge(now, path, &r.h, out)
	}
}

// compact moves the remaining outputs to the front when at least half are released: under load
// the queue is never empty.
func (h *heldOutputs) compact() {
	if h.first*2 >= len(h.items) {
		n := copy(h.items, h.items[h.first:])
		clear(h.items[n:])
		h.items, h.first = h.items[:n], 0
	}
}

// deliver sends the reliable packets of an output, and keeps the answers for replay.
func (e *Endpoint) deliver(now time.Duration, o *output, out Sink) {
	if o.push != nil {
		if path := o.address(); path != nil && !o.push.flags().Unreliable() {
			o.push.refs++
			e.push(now, path, pending{k: o.push, pushed: true}, nil, out)
		}
		return
	}
	r := &e.requests.slots[o.slot]
	path := r.address()
	if sess := r.run(); sess != nil && !r.unreliably {
		e.keepAnswer(now, sess, r)
	}
	if path == nil {
		return
	}
	right := path.exemptionOf(&r.h, r.size)
	path.held = r.held
	for i := 0; i < len(r.replies); {
		k := r.replies[i]
		n := min(k.fragments(), len(r.replies)-i)
		switch {
		case k.flags().Unreliable():
			i++
		case n > 0:
			e.replayBundle(now, path, r.replies[i:i+n], &right, out)
			i += n
		default:
			k.refs++
			e.enqueue(now, path, k, &right, out)
			i++
		}
	}
	path.held = false
	if !r.held {
		e.flush(now, path, nil, out)
	}
}

// sendUnreliable sends the unreliable packets of an output and ends it.
func (e *Endpoint) sendUnreliable(now time.Duration, o *output, out Sink) {
	if o.push != nil {
		e.sendOnce(now, o.address(), o.push, out)
		return
	}
	r := &e.requests.slots[o.slot]
	path := r.address()
	for _, k := range r.replies {
		e.sendOnce(now, path, k, out)
	}
	e.closeRequest(o.slot)
}

// sendOnce sends k if it is unreliable, and drops the output's reference.
func (e *Endpoint) sendOnce(now time.Duration, path *path, k *packet, out Sink) {
	if path != nil && k.flags().Unreliable() && e.allow(now, path, len(k.buf), nil) {
		e.emit(path, k, out)
	}
	e.pool.drop(k)
}

// Push sends an encoded packet, which is not an answer, to every session of a token, behind a
// durable index: reliably, unless its flags say otherwise. It sets the sequence number, and returns the
// number of sessions.
func (e *Endpoint) Push(token wamble.Token, packet []byte, durableIndex uint64) int {
	n := 0
	for sess := e.table.byToken[token]; sess != nil; sess = sess.next {
		e.pushTo(sess.home, packet, durableIndex)
		n++
	}
	return n
}

// PushLatest is Push to one session of a token: the one with the latest new request. It reports
// whether there is one.
func (e *Endpoint) PushLatest(token wamble.Token, packet []byte, durableIndex uint64) bool {
	sess := e.table.byToken[token]
	if sess == nil {
		return false
	}
	e.pushTo(sess.home, packet, durableIndex)
	return true
}

// Unseen reports whether a BOARD_UPDATE of a board, pushed to the sender of a request, waits
// for its durable index or its ACK: the player may have sent the request before they saw it. For a
// connection only the durable index is known.
func (e *Endpoint) Unseen(id Request, board wamble.BoardID) bool {
	r := e.requests.get(id)
	if r == nil || r.address() == nil {
		return false
	}
	shows := func(k *packet) bool {
		return k.control() == wire.CtrlBoardUpdate && !k.flags().Unreliable() && k.board() == board
	}
	for i := range e.outputs.items[e.outputs.first:] {
		if o := &e.outputs.items[e.outputs.first+i]; o.push != nil && o.address() == r.e && shows(o.push) {
			return true
		}
	}
	return slices.ContainsFunc(r.e.queue, func(p pending) bool { return p.pushed && shows(p.k) })
}

// pushTo puts a packet for a path behind a durable index.
func (e *Endpoint) pushTo(path *path, packet []byte, durableIndex uint64) {
	k := e.pool.copyOf(packet)
	e.number(path, k)
	o := e.outputs.add(durableIndex)
	o.push, o.path, o.serial = k, path, path.serial
}

// number sets the sequence number of a packet for a path.
func (e *Endpoint) number(path *path, k *packet) {
	if !path.peer.Stream() && !path.proof.proven {
		e.pool.countUnproven(k)
	}
	switch {
	case k.flags().Unreliable():
		wire.SetSeq(k.buf, 0)
	case k.control() == wire.CtrlServerHello:
		wire.SetSeq(k.buf, 1) // without using up a number of the counter
	default:
		wire.SetSeq(k.buf, path.nextSeq())
	}
}
