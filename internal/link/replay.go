package link

import (
	"slices"
	"time"

	"wamble/wire"
)

// keepAnswer stores the answers of a finished request for replay, with a reference to each packet.
func (e *Endpoint) keepAnswer(now time.Duration, sess *session, r *request) {
	if e.cfg.ReplayTTL < 0 {
		return
	}
	if !anyReplayed(r.replies) || e.isOverMemory(r.replies[0].unproven) {
		return
	}
	if len(sess.answers) == maxAnswers {
		e.dropOldest(sess)
	}
	t := sess.spareAnswer()
	t.of, t.at = r.of, now
	for _, k := range r.replies {
		if replayed(k) {
			k.refs++
			t.packets = append(t.packets, k)
		}
	}
	e.table.timers.sooner(sess.home, now+e.cfg.ReplayTTL+1)
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
	n := len(s.answers)
	if n < cap(s.answers) {
		s.answers = s.answers[:n+1]
	} else {
		s.answers = append(s.answers, answer{})
	}
	return &s.answers[n]
}

// dropOldest drops the oldest kept answer. It leaves the memory of its packet list behind the
// end of kept for reuse, unless the list was long.
func (e *Endpoint) dropOldest(sess *session) {
	packets := sess.answers[0].packets
	for i, k := range packets {
		e.pool.drop(k)
		packets[i] = nil
	}
	if packets = packets[:0]; cap(packets) > maxAnswers {
		packets = nil
	}
	last := len(sess.answers) - 1
	copy(sess.answers, sess.answers[1:])
	sess.answers[last] = answer{packets: packets}
	sess.answers = sess.answers[:last]
}

func (e *Endpoint) dropAnswers(sess *session) {
	for len(sess.answers) > 0 {
		e.dropOldest(sess)
	}
}

// expireAnswers drops answers that are too old to be replayed.
func (e *Endpoint) expireAnswers(now time.Duration, sess *session) {
	for len(sess.answers) > 0 && now-sess.answers[0].at > e.cfg.ReplayTTL {
		e.dropOldest(sess)
	}
}

// duplicate answers a copy of a finished request: ACK, and the answer if it is kept, or still withheld. An
// unproven address without the credit for the answer gets no ACK either.
func (e *Endpoint) duplicate(now time.Duration, path *path, in *incoming, out Sink) {
	e.stats.Duplicates++
	e.got.Packet = &e.got.packet
	e.vouchByNeighbour(path, in.Token)
	t, size := path.sess.findAnswer(now, e.cfg.ReplayTTL, in), 0
	if t != nil {
		size = firstSize(t.packets)
	} else if i := path.withheld(); i >= 0 {
		size = len(path.queue[i].k.buf)
	}
	right := path.exemptionOf(in.Header, in.size)
	if !e.canAnswer(now, path, size, right) {
		return
	}
	e.acknowledge(now, path, in.Header, out)
	if t == nil {
		e.flush(now, path, &right, out)
		return
	}
	e.stats.Replays++
	for i := 0; i < len(t.packets); {
		k := t.packets[i]
		if n := min(k.fragments(), len(t.packets)-i); n > 0 {
			e.replayBundle(now, path, t.packets[i:i+n], &right, out)
			i += n
			continue
		}
		e.replay(now, path, k, &right, out)
		i++
	}
	e.flush(now, path, nil, out)
}

// replay sends a kept packet again. A packet that still waits for its ACK is left to its timer;
// but an unproven address, to which timers repeat nothing, gets a copy for each request that
// has credit for it.
func (e *Endpoint) replay(now time.Duration, path *path, k *packet, right *exemption, out Sink) {
	for i := range path.queue {
		p := &path.queue[i]
		if p.k != k {
			continue
		}
		if !path.proof.proven {
			e.transmit(now, path, p, right, out)
			e.table.timers.sooner(path, p.due)
		}
		return
	}
	k.refs++
	e.enqueue(now, path, k, right, out)
}

func (e *Endpoint) replayBundle(now time.Duration, path *path, chunks []*packet, right *exemption, out Sink) {
	if path.bundled(chunks[0]) {
		for i := range path.queue {
			if p := &path.queue[i]; p.chunk && !path.proof.proven && slices.Contains(chunks, p.k) {
				e.transmit(now, path, p, right, out)
				e.table.timers.sooner(path, p.due)
			}
		}
		return
	}
	b := bundle{chunks: append([]*packet(nil), chunks...)}
	for _, k := range b.chunks {
		k.refs++
	}
	e.addBundle(now, path, b, right, out)
}
