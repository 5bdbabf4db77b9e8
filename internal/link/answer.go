package link

import (
	"wamble/wire"
)

// Answer encodes a reply to a request and adds it to the answers: in fragments if the protocol
// requires that or it does not fit one packet, unreliably if h.Flags has wire.FlagUnreliable.
// It sets h.Seq; the caller sets the other fields of h.
func Answer[M wire.Message](s *Server, id Request, h wire.Header, m M, ext ...wire.Field) error {
	r := s.requests.get(id)
	if r == nil {
		return nil
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
func (s *Server) Reply(id Request, packet []byte) {
	if r := s.requests.get(id); r != nil {
		s.reply(r, s.pool.copyOf(packet))
	}
}

// reply adds k to the answers of r. It takes over the caller's reference.
func (s *Server) reply(r *request, k *packet) {
	e := r.address()
	if e == nil {
		s.pool.drop(k)
		return
	}
	number(e, k)
	r.replies = append(r.replies, k)
}

// ReplyPayload adds a payload, which includes its extension trailer, in fragments to the
// answers of a request. It returns wire.ErrTooLong over 1 MiB.
func (s *Server) ReplyPayload(id Request, h wire.Header, payload []byte) error {
	r := s.requests.get(id)
	if r == nil {
		return nil
	}
	e := r.address()
	if e == nil {
		return nil
	}
	var err error
	r.replies, err = s.cut(e, r.replies, h, payload)
	return err
}

// cut appends the fragments of a payload to dst. Their sequence numbers stay the same in every
// replay.
func (s *Server) cut(e *endpoint, dst []*packet, h wire.Header, payload []byte) ([]*packet, error) {
	if s.transfer++; s.transfer == 0 {
		s.transfer = 1
	}
	t, err := wire.NewTransfer(s.transfer, payload)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	for i := range t.Chunks() {
		s.scratch, err = wire.Append(s.scratch[:0], h, t.Fragment(i))
		if err != nil {
			for _, k := range dst[start:] {
				s.pool.drop(k)
			}
			return dst[:start], err
		}
		k := s.pool.copyOf(s.scratch)
		number(e, k)
		dst = append(dst, k)
	}
	return dst, nil
}
