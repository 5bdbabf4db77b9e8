package link

import (
	"wamble/wire"
)

// Answer encodes a reply to a request and adds it to the answers: in fragments if the protocol
// requires that or it does not fit one packet, unreliably if h.Flags has wire.FlagUnreliable.
// It sets h.Seq; the caller sets the other fields of h. Of many fields it drops, in the memory of ext, those
// that the client may not read.
func Answer[M wire.Message](s *Endpoint, id Request, h wire.Header, m M, ext ...wire.Field) error {
	r := s.requests.get(id)
	if r == nil {
		return nil
	}
	if len(ext) > wire.OldMaxFields && !r.sess.readsAll {
		ext = wire.Ext(ext).Shorten(wire.OldMaxFields)
	}
	k := s.pool.take(smallPacket)
	packet, err := wire.Append(k.buf, h, m, ext...)
	enveloped := err != nil || m.Control().MustFragment(len(packet)-wire.HeaderSize)
	if !enveloped && cap(packet) == cap(k.buf) {
		k.buf = packet
		s.reply(r, k)
		return nil
	}
	s.pool.drop(k)
	if !enveloped { // longer than smallPacket
		s.Reply(id, packet)
		return nil
	}
	if s.payload, err = wire.AppendPayload(s.payload[:0], m, ext...); err != nil {
		return err
	}
	if h.Ctrl == 0 {
		h.Ctrl = m.Control()
	}
	return s.ReplyPayload(id, h, s.payload)
}

// Reply adds a copy of an encoded packet to the answers of a request, and sets its sequence
// number.
func (e *Endpoint) Reply(id Request, packet []byte) {
	if r := e.requests.get(id); r != nil {
		e.reply(r, e.pool.copyOf(packet))
	}
}

// reply adds k to the answers of r. It takes over the caller's reference.
func (e *Endpoint) reply(r *request, k *packet) {
	path := r.address()
	if path == nil {
		e.pool.drop(k)
		return
	}
	e.number(path, k)
	r.replies = append(r.replies, k)
}

// ReplyPayload adds a payload, which includes its extension trailer, in fragments to the
// answers of a request. It returns wire.ErrTooLong over 1 MiB.
func (e *Endpoint) ReplyPayload(id Request, h wire.Header, payload []byte) error {
	r := e.requests.get(id)
	if r == nil {
		return nil
	}
	path := r.address()
	if path == nil {
		return nil
	}
	if r.refused = e.refusesBundle(path); r.refused {
		e.stats.GivenUp++
		return nil
	}
	var err error
	r.replies, err = e.cut(path, r.replies, h, payload)
	return err
}

// refusesBundle reports whether an answer in fragments is too much for a path now: an unproven one waits for one
// at a time, and for the memory that such paths have.
func (e *Endpoint) refusesBundle(path *path) bool {
	return !path.peer.Stream() && !path.proof.proven && (len(path.bundles) > 0 || e.isOverMemory(true))
}

// cut appends the fragments of a payload to dst. Their sequence numbers stay the same in every
// replay.
func (e *Endpoint) cut(path *path, dst []*packet, h wire.Header, payload []byte) ([]*packet, error) {
	if e.transfer++; e.transfer == 0 {
		e.transfer = 1
	}
	t, err := wire.NewTransfer(e.transfer, payload)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	for i := range t.Chunks() {
		e.scratch, err = wire.Append(e.scratch[:0], h, t.Fragment(i))
		if err != nil {
			for _, k := range dst[start:] {
				e.pool.drop(k)
			}
			return dst[:start], err
		}
		k := e.pool.copyOf(e.scratch)
		e.number(path, k)
		dst = append(dst, k)
	}
	return dst, nil
}
