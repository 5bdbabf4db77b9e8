package link

import (
	"time"

	"wamble/wire"
)

// keep stores the answers of a finished request for replay, with a reference to each packet.
func (s *Server) keep(now time.Duration, sess *session, r *request) {
	if s.cfg.ReplayTTL < 0 {
		return
	}
	if s.crowded() || !anyReplayed(r.replies) {
		return
	}
	if len(sess.kept) == maxKept {
		s.dropOldest(sess)
	}
	t := sess.spareAnswer()
	t.of, t.at = r.of, now
	for _, k := range r.replies {
		if replayed(k) {
			k.refs++
			t.packets = append(t.packets, k)
		}
	}
	s.table.timers.sooner(sess.home, now+s.cfg.ReplayTTL+1)
}

// replayed reports whether an answer is kept for replay: wire's table says so, and it was not
// sent unreliably.
func replayed(k *packet) bool {
	info, ok := k.control().Info()
	return ok && info.Delivery == wire.Replayed && !k.flags().Unreliable()
}

func anyReplayed(replies []*packet) bool {
	for _, k := range replies {
		if replayed(k) {
			return true
		}
	}
	return false
}

// spareAnswer extends kept by one entry and reuses the memory of a former entry.
func (s *session) spareAnswer() *answer {
	n := len(s.kept)
	if n < cap(s.kept) {
		s.kept = s.kept[:n+1]
	} else {
		s.kept = append(s.kept, answer{})
	}
	return &s.kept[n]
}

// dropOldest drops the oldest kept answer. It leaves the memory of its packet list behind the
// end of kept for reuse, unless the list was long.
func (s *Server) dropOldest(sess *session) {
	packets := sess.kept[0].packets
	for i, k := range packets {
		s.pool.drop(k)
		packets[i] = nil
	}
	if packets = packets[:0]; cap(packets) > maxKept {
		packets = nil
	}
	last := len(sess.kept) - 1
	copy(sess.kept, sess.kept[1:])
	sess.kept[last] = answer{packets: packets}
	sess.kept = sess.kept[:last]
}

func (s *Server) dropKept(sess *session) {
	for len(sess.kept) > 0 {
		s.dropOldest(sess)
	}
}

// expireKept drops answers that are too old to be replayed.
func (s *Server) expireKept(now time.Duration, sess *session) {
	for len(sess.kept) > 0 && now-sess.kept[0].at > s.cfg.ReplayTTL {
		s.dropOldest(sess)
	}
}

// duplicate answers a copy of a finished request: ACK, and the answer if it is kept.
func (s *Server) duplicate(now time.Duration, e *endpoint, in *incoming, out Sink) {
	s.stats.Duplicates++
	s.vouchByNeighbour(e, in.Token)
	s.acknowledge(now, e, in.Header, out)
	t := e.sess.keptAnswer(now, s.cfg.ReplayTTL, in)
	if t == nil {
		s.flush(now, e, out)
		return
	}
	s.stats.Replays++
	right := e.exemptionOf(in.Header, in.size)
	for i := 0; i < len(t.packets); {
		k := t.packets[i]
		if n := min(k.fragments(), len(t.packets)-i); n > 0 {
			s.replayBundle(now, e, t.packets[i:i+n], &right, out)
			i += n
			continue
		}
		s.replay(now, e, k, &right, out)
		i++
	}
	s.flush(now, e, out)
}

// replay sends a kept packet again. A packet that still waits for its ACK is left to its timer;
// but an unproven address, to which timers repeat nothing, gets a copy for each request that
// has credit for it.
func (s *Server) replay(now time.Duration, e *endpoint, k *packet, right *exemption, out Sink) {
	for i := range e.queue {
		p := &e.queue[i]
		if p.k != k {
			continue
		}
		if !e.proof.proven {
			s.transmit(now, e, p, right, out)
			s.table.timers.sooner(e, p.due)
		}
		return
	}
	k.refs++
	s.enqueue(now, e, k, right, out)
}

func (s *Server) replayBundle(now time.Duration, e *endpoint, chunks []*packet, right *exemption, out Sink) {
	if e.bundled(chunks[0]) {
		return
	}
	b := bundle{chunks: append([]*packet(nil), chunks...)}
	for _, k := range b.chunks {
		k.refs++
	}
	s.addBundle(now, e, b, right, out)
}
