package link

import (
	"wamble"
	"wamble/wire"
)

// Request identifies a request from Receive until Release or Abandon. The zero value is no
// request. Calls with a request that is over have no effect.
type Request struct{ slot, gen uint32 }

// request is a request in flight.
type request struct {
	gen  uint32
	live bool
	done bool        // finished; waits for its durable index
	held bool        // the address has no credit for the answer, so that neither ACK nor answer is sent
	h    wire.Header // as received
	size int         // bytes of the packet
	// refused says that the answer is too much for an unproven address now: the request is not acknowledged, and
	// a repetition is new.
	refused bool
	// shown says that the sender's address is certain: a connection or a good cookie.
	shown bool
	of    fingerprint
	// The path and session of the request. Both may be removed and their memory reused
	// before the request is finished: then the serial differs.
	e          *path
	path       uint64
	sess       *session
	session    uint64
	epoch      uint32
	replies    []*packet
	unreliably bool
}

// address returns the path for the answers, or nil if it was removed.
func (r *request) address() *path {
	if r.e.serial != r.path {
		return nil
	}
	return r.e
}

// run returns the session of the request's number, or nil if the session was removed or its
// numbers have restarted.
func (r *request) run() *session {
	if r.sess.serial != r.session || r.sess.epoch != r.epoch {
		return nil
	}
	return r.sess
}

// requests are the requests in flight.
type requests struct {
	slots []request
	free  []uint32
}

func (q *requests) used() int { return len(q.slots) - len(q.free) }

func (q *requests) add(path *path, in *incoming) Request {
	var i uint32
	if n := len(q.free); n > 0 {
		i = q.free[n-1]
		q.free = q.free[:n-1]
	} else {
		i = uint32(len(q.slots))
		q.slots = append(q.slots, request{})
	}
	// Single assignments: for a composite literal the compiler would build a request on the
	// stack and copy it.
	r, sess := &q.slots[i], path.sess
	r.gen, r.live, r.done, r.held, r.refused = r.gen+1, true, false, false, false
	r.h.Ctrl, r.h.Flags, r.h.Version = in.Ctrl, in.Flags, in.Version
	r.h.Token, r.h.Board, r.h.Seq = in.Token, in.Board, in.Seq
	r.size, r.of, r.unreliably, r.shown = in.size, in.print, in.Flags.Unreliable(), in.shown
	r.e, r.path = path, path.serial
	r.sess, r.session, r.epoch = sess, sess.serial, sess.epoch
	r.replies = r.replies[:0]
	return Request{i, r.gen}
}

// get returns a request that may still be answered, or nil.
func (q *requests) get(id Request) *request {
	if id.gen == 0 || int(id.slot) >= len(q.slots) {
		return nil
	}
	if r := &q.slots[id.slot]; r.live && !r.done && r.gen == id.gen {
		return r
	}
	return nil
}

func (q *requests) release(i uint32) {
	q.slots[i].live = false
	q.slots[i].e, q.slots[i].sess = nil, nil
	q.free = append(q.free, i)
}

// inFlight reports whether a request of the session's current run is in flight.
func (q *requests) inFlight(s *session, in *incoming) bool {
	for _, i := range s.open {
		if r := &q.slots[i]; r.of == in.print && !r.unreliably && r.epoch == s.epoch {
			return true
		}
	}
	return false
}

// Peer returns where a request came from, and false if that address was removed or the request
// is over.
func (e *Endpoint) Peer(id Request) (wamble.Peer, bool) {
	r := e.requests.get(id)
	if r == nil || r.address() == nil {
		return wamble.Peer{}, false
	}
	return r.e.peer, true
}

// Vouch says that the caller knows the request's token to be valid. Only such a token can prove
// an address. SERVER_HELLO and LOGIN_SUCCESS vouch for their token without a call.
func (e *Endpoint) Vouch(id Request) {
	if r := e.requests.get(id); r != nil {
		if path := r.address(); path != nil && !path.proof.proven {
			path.proof.vouched = r.h.Token
		}
	}
}

// Proven reports whether a request came from an address that has proven itself.
func (e *Endpoint) Proven(id Request) bool {
	r := e.requests.get(id)
	if r == nil {
		return false
	}
	path := r.address()
	return path != nil && e.table.proven(path)
}

// Room returns the largest size of a reply to the request that can be sent at once:
// wire.MaxPacket for a proven address, less for an unproven one. A larger reply waits for the
// proof, so leave out optional fields.
func (e *Endpoint) Room(id Request) int {
	r := e.requests.get(id)
	if r == nil {
		return 0
	}
	path := r.address()
	if path == nil {
		return 0
	}
	if e.table.proven(path) {
		return wire.MaxPacket
	}
	right := path.exemptionOf(&r.h, r.size)
	credit := min(path.proof.credit, creditFactor*r.size) // leave the rest to other requests in flight
	if !r.unreliably {
		credit -= wire.HeaderSize // its ACK is sent first
	}
	return min(max(right.remaining, credit), wire.MaxPacket)
}

// Abandon drops a request as if it had not arrived: no ACK is sent, and a repetition is new.
// It is for a handler that has no room to decide now.
func (e *Endpoint) Abandon(id Request) {
	r := e.requests.get(id)
	if r == nil {
		return
	}
	for _, k := range r.replies {
		e.pool.drop(k)
	}
	r.forget()
	e.closeRequest(id.slot)
}

// forget makes a repetition of the request a new one.
func (r *request) forget() {
	if sess := r.run(); sess != nil && !r.unreliably {
		sess.win.forget(r.h.Seq)
	}
}

// closeRequest ends a request, whose replies must have been released.
func (e *Endpoint) closeRequest(i uint32) {
	r := &e.requests.slots[i]
	if r.sess.serial == r.session {
		open := r.sess.open
		for j, o := range open {
			if o == i {
				r.sess.open = append(open[:j], open[j+1:]...)
				break
			}
		}
	}
	e.requests.release(i)
}
