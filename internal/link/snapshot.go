package link

import (
	"time"

	"wamble"
)

// census lists the endpoints and sessions of a snapshot, in an order that does not depend on
// maps, and numbers their packets. Streams are left out: a connection does not outlive its
// process.
type census struct {
	endpoints []*endpoint
	sessions  []*session
	packets   []*packet
	place     map[*endpoint]int
	number    map[*session]int
}

func (s *Server) census() census {
	c := census{place: map[*endpoint]int{}, number: map[*session]int{}}
	for i := range s.table.ages {
		for e := s.table.ages[i].first; e != nil; e = e.links[byAge].next {
			if e.peer.Stream() {
				continue
			}
			c.place[e] = len(c.endpoints)
			c.endpoints = append(c.endpoints, e)
			if _, ok := c.number[e.sess]; !ok {
				c.number[e.sess] = len(c.sessions)
				c.sessions = append(c.sessions, e.sess)
			}
		}
	}
	return c
}

// mark gives packets without a number the next one, from 1.
func (c *census) mark(list ...*packet) {
	for _, k := range list {
		if k.mark == 0 {
			c.packets = append(c.packets, k)
			k.mark = uint32(len(c.packets))
		}
	}
}

func (c *census) markAll() {
	for _, s := range c.sessions {
		for i := range s.kept {
			c.mark(s.kept[i].packets...)
		}
	}
	for _, e := range c.endpoints {
		for i := range e.queue {
			c.mark(e.queue[i].k)
		}
		for i := range e.bundles {
			c.mark(e.bundles[i].chunks...)
		}
	}
}

// SnapshotSize estimates the size of a snapshot in bytes, rather too high than too low.
func (s *Server) SnapshotSize() int {
	const perEndpoint, perRow, rest = 1 << 10, 64, 1 << 10
	rows := s.limits.counters.Len() + s.budgets.networks.Len() + s.proofs.Len()
	return s.pool.held + s.table.count*perEndpoint + rows*perRow + rest
}

// Snapshot appends the whole state to dst, for Restore in another process: sequence numbers,
// windows, kept answers, packets without ACK, proofs, counters. It does not change the server.
// It returns ErrHeld while outputs wait for their gate. Requests in flight are left out, as by
// Abandon, so that their repetitions are new to the restored server; streams are left out, as
// by Forget.
func (s *Server) Snapshot(now time.Duration, dst []byte) ([]byte, error) {
	if s.Held() > 0 {
		return dst, ErrHeld
	}
	w := &writer{append(dst, stateMagic...), s.tick(now)}
	w.Uint(stateVersion)
	w.Uint(uint64(s.transfer))
	w.Uint(s.table.serial)
	for _, row := range stats[:stateStats] {
		w.Uint(*row.of(&s.stats))
	}
	c := s.census()
	c.markAll()
	w.Uint(uint64(len(c.packets)))
	for _, k := range c.packets {
		w.Bytes(k.buf)
	}
	w.Uint(uint64(len(c.sessions)))
	for _, sess := range c.sessions {
		s.writeSession(w, sess)
	}
	w.Uint(uint64(len(c.endpoints)))
	for _, e := range c.endpoints {
		w.Uint(uint64(c.number[e.sess]))
		writeEndpoint(w, e)
	}
	for _, sess := range c.sessions {
		writeTies(w, &c, sess)
	}
	s.writeTables(w)
	for _, k := range c.packets {
		k.mark = 0
	}
	return w.Writer, nil
}

func writePackets(w *writer, list []*packet) {
	w.Uint(uint64(len(list)))
	for _, k := range list {
		w.Uint(uint64(k.mark - 1))
	}
}

func (s *Server) writeSession(w *writer, sess *session) {
	win := sess.win
	for _, i := range sess.open {
		if r := &s.requests.slots[i]; r.epoch == sess.epoch && !r.unreliably {
			win.forget(r.h.Seq)
		}
	}
	w.Uint(sess.serial)
	w.token(sess.token)
	w.Uint(uint64(win.max))
	w.Uint(uint64(win.low))
	w.bool(win.used)
	for _, bits := range win.bits {
		w.Uint(bits)
	}
	w.Uint(uint64(sess.epoch))
	w.time(sess.homeSince)
	w.token(sess.granted)
	w.bool(sess.claimed)
	for _, p := range sess.history.ring {
		w.print(p)
	}
	w.Uint(uint64(sess.history.next))
	w.Int(int64(sess.rebinds.used))
	w.time(sess.rebinds.at)
	w.Uint(uint64(len(sess.kept)))
	for i := range sess.kept {
		t := &sess.kept[i]
		w.print(t.of)
		w.time(t.at)
		writePackets(w, t.packets)
	}
}

func writeEndpoint(w *writer, e *endpoint) {
	w.peer(e.peer)
	w.Uint(e.serial)
	w.Uint(uint64(e.out))
	w.Int(int64(e.rtt.smooth))
	w.Int(int64(e.rtt.vary))
	w.bool(e.proof.proven)
	w.token(e.proof.vouched)
	w.Int(int64(e.proof.credit))
	w.time(e.seen)
	w.time(e.timer.at)
	w.Uint(uint64(len(e.queue)))
	for i := range e.queue {
		p := &e.queue[i]
		w.Uint(uint64(p.k.mark - 1))
		w.Int(int64(p.sends))
		w.bool(p.chunk)
		w.time(p.sent)
		w.time(p.due)
	}
	w.Uint(uint64(len(e.bundles)))
	for i := range e.bundles {
		writePackets(w, e.bundles[i].chunks)
		w.Uint(uint64(e.bundles[i].at))
	}
}

// writeTies writes the addresses of a session, its home and, if it is the first of its token's
// chain, that chain.
func writeTies(w *writer, c *census, sess *session) {
	w.Uint(uint64(len(sess.addrs)))
	for _, a := range sess.addrs {
		w.Uint(uint64(c.place[a]))
	}
	w.Uint(uint64(c.place[sess.home]))
	chain := c.chain(sess)
	w.Uint(uint64(len(chain)))
	for _, i := range chain {
		w.Uint(uint64(i))
	}
}

// chain returns the numbers of the sessions in the chain that begins with sess, nil if sess is
// not the first of a chain.
func (c *census) chain(sess *session) []int {
	for m := sess.prev; m != nil; m = m.prev {
		if _, ok := c.number[m]; ok {
			return nil
		}
	}
	if sess.token.IsZero() {
		return nil
	}
	var all []int
	for m := sess; m != nil; m = m.next {
		if i, ok := c.number[m]; ok {
			all = append(all, i)
		}
	}
	return all
}

// writeTables writes counters, budgets and remembered proofs, the least recently
// used first.
func (s *Server) writeTables(w *writer) {
	w.Uint(uint64(s.limits.counters.Len()))
	s.limits.counters.FromOldest(func(k limitKey, c *counter) {
		w.Uint(uint64(k.kind))
		w.Bytes(k.id[:])
		w.time(c.start)
		w.Int(int64(c.n))
		w.bool(c.told)
	})
	w.Int(int64(s.budgets.listener.used))
	w.time(s.budgets.listener.at)
	w.Uint(uint64(s.budgets.networks.Len()))
	s.budgets.networks.FromOldest(func(k hostID, f *flow) {
		w.Bytes(k[:])
		w.Int(int64(f.used))
		w.time(f.at)
	})
	w.Uint(uint64(s.proofs.Len()))
	s.proofs.FromOldest(func(p wamble.Peer, m *remembered) {
		w.peer(p)
		w.time(m.at)
		w.token(m.vouched)
	})
}
