package link

import (
	"time"

	"wamble/wire"
)

// keep stores the answers of a request that is done. The packets get one more
// reference each.
func (s *Server) keep(now time.Duration, sess *session, h wire.Header, replies []*packet) {
	if s.cfg.ReplayTTL < 0 {
		return
	}
	n := 0
	for _, k := range replies {
		if replayed(k) {
			n++
		}
	}
	if n == 0 {
		return
	}
	if s.pool.held > s.cfg.MaxReplayBytes {
		s.stats.Uncached++
		return
	}
	t := terminal{seq: h.Seq, ctrl: h.Ctrl, at: now}
	if len(sess.kept) == maxTerminals {
		t.packets = s.dropTerminal(sess)
	}
	for _, k := range replies {
		if replayed(k) {
			k.refs++
			t.packets = append(t.packets, k)
		}
	}
	sess.kept = append(sess.kept, t)
	s.table.timers.sooner(sess.home, now+s.cfg.ReplayTTL+1)
}

// replayed reports whether an answer is kept: the table of wire says so, unless
// it was sent unreliably.
func replayed(k *packet) bool {
	info, ok := k.control().Info()
	return ok && info.Delivery == wire.Replayed && !k.flags().Unreliable()
}

// dropTerminal drops the oldest kept answer and returns its memory.
func (s *Server) dropTerminal(sess *session) []*packet {
	packets := sess.kept[0].packets
	for _, k := range packets {
		s.pool.drop(k)
	}
	copy(sess.kept, sess.kept[1:])
	sess.kept[len(sess.kept)-1] = terminal{}
	sess.kept = sess.kept[:len(sess.kept)-1]
	return packets[:0]
}

func (s *Server) dropKept(sess *session) {
	for len(sess.kept) > 0 {
		s.dropTerminal(sess)
	}
}

// expireKept drops answers that are too old to be replayed.
func (s *Server) expireKept(now time.Duration, sess *session) {
	for len(sess.kept) > 0 && now-sess.kept[0].at > s.cfg.ReplayTTL {
		s.dropTerminal(sess)
	}
}

// duplicate answers a request that is done: ACK, and the answer if it is kept.
func (s *Server) duplicate(now time.Duration, e *endpoint, h wire.Header, size int, out Sink) {
	s.stats.Duplicates++
	s.vouchByNeighbour(e, h.Token)
	s.acknowledge(now, e, h, out)
	t := e.sess.keptAnswer(now, s.cfg.ReplayTTL, h.Seq)
	if t == nil {
		s.flush(now, e, out)
		return
	}
	s.stats.Replays++
	right := exemptionOf(h.Ctrl, size)
	for i := 0; i < len(t.packets); {
		k := t.packets[i]
		if n := k.fragments(); n > 0 {
			s.replayBundle(now, e, t.packets[i:i+n], &right, out)
			i += n
			continue
		}
		s.replay(now, e, k, &right, out)
		i++
	}
	s.flush(now, e, out)
}

// replay sends a kept packet again. One that still waits for its ACK is left to
// its timer, except that an unproven address, which timers do not serve, gets a
// copy for each request it pays for.
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
