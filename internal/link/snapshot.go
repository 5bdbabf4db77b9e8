package link

import (
	"time"

	"wamble"
	"wamble/internal/tokenbucket"
)

// census lists the paths and sessions of a snapshot, in an order that does not depend on
// maps, and numbers their packets. Streams are left out: a connection does not outlive its
// process.
type census struct {
	paths    []*path
	sessions []*session
	packets  []*packet
	place    map[*path]int
	number   map[*session]int
}

func (e *Endpoint) census() census {
	c := census{place: map[*path]int{}, number: map[*session]int{}}
	for i := range e.table.ages {
		for path := e.table.ages[i].first; path != nil; path = path.links[byAge].next {
			if path.peer.Stream() {
				continue
			}
			c.place[path] = len(c.paths)
			c.paths = append(c.paths, path)
			if _, ok := c.number[path.sess]; !ok {
				c.number[path.sess] = len(c.sessions)
				c.sessions = append(c.sessions, path.sess)
			}
		}
	}
	return c
}

// addPackets gives packets without a number the next one, from 1.
func (c *census) addPackets(list ...*packet) {
	for _, k := range list {
		if k.snapshotIndex == 0 {
			c.packets = append(c.packets, k)
			k.snapshotIndex = uint32(len(c.packets))
		}
	}
}

func (c *census) addAllPackets() {
	for _, s := range c.sessions {
		for i := range s.answers {
			c.addPackets(s.answers[i].packets...)
		}
	}
	for _, path := range c.paths {
		for i := range path.queue {
			c.addPackets(path.queue[i].k)
		}
		for i := range path.bundles {
			c.addPackets(path.bundles[i].chunks...)
		}
	}
}

// Snapshot appends the whole state to dst, for Restore in another process: sequence numbers,
// windows, kept answers, packets without ACK, proofs, counters. It does not change the server.
// It returns ErrHeld while outputs wait for their durable index. Requests in flight are left out, as by
// Abandon, so that their repetitions are new to the restored server; streams are left out, as
// by Forget.
func (e *Endpoint) Snapshot(now time.Duration, dst []byte) ([]byte, error) {
	if e.Held() > 0 {
		return dst, ErrHeld
	}
	w := &writer{append(dst, stateMagic...), e.tick(now)}
	w.Uint(stateVersion)
	w.Uint(uint64(e.transfer))
	w.Uint(e.table.serial)
	for _, row := range stats[:stateStats] {
		w.Uint(*row.of(&e.stats))
	}
	c := e.census()
	c.addAllPackets()
	w.Uint(uint64(len(c.packets)))
	for _, k := range c.packets {
		w.Bytes(k.buf)
	}
	w.Uint(uint64(len(c.sessions)))
	for _, sess := range c.sessions {
		e.writeSession(w, sess)
	}
	w.Uint(uint64(len(c.paths)))
	for _, path := range c.paths {
		w.Uint(uint64(c.number[path.sess]))
		writePath(w, path)
	}
	for _, sess := range c.sessions {
		writeTies(w, &c, sess)
	}
	e.writeTables(w)
	for _, k := range c.packets {
		k.snapshotIndex = 0
	}
	return w.Writer, nil
}

func writePackets(w *writer, list []*packet) {
	w.Uint(uint64(len(list)))
	for _, k := range list {
		w.Uint(uint64(k.snapshotIndex - 1))
	}
}

func (e *Endpoint) writeSession(w *writer, sess *session) {
	win := sess.win
	for _, i := range sess.open {
		if r := &e.requests.slots[i]; r.epoch == sess.epoch && !r.unreliably {
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
	w.bits(sess.claimed, sess.readsAll)
	for _, p := range sess.history.ring {
		w.print(p)
	}
	w.Uint(uint64(sess.history.next))
	w.bucket(sess.rebinds, rebindLimit)
	w.Uint(uint64(len(sess.answers)))
	for i := range sess.answers {
		t := &sess.answers[i]
		w.print(t.of)
		w.time(t.at)
		writePackets(w, t.packets)
	}
}

func writePath(w *writer, path *path) {
	w.peer(path.peer)
	w.Uint(path.serial)
	w.Uint(uint64(path.out))
	w.Int(int64(path.rtt.smooth))
	w.Int(int64(path.rtt.vary))
	w.bits(path.proof.proven, path.acks)
	w.token(path.proof.vouched)
	w.Int(int64(path.proof.credit))
	w.time(path.seen)
	w.time(path.timer.at)
	w.Uint(uint64(len(path.queue)))
	for i := range path.queue {
		p := &path.queue[i]
		w.Uint(uint64(p.k.snapshotIndex - 1))
		w.Int(int64(p.sends))
		w.bits(p.chunk, p.pushed)
		w.time(p.sent)
		w.time(p.due)
	}
	w.Uint(uint64(len(path.bundles)))
	for i := range path.bundles {
		writePackets(w, path.bundles[i].chunks)
		w.Uint(uint64(path.bundles[i].at))
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
func (e *Endpoint) writeTables(w *writer) {
	w.Uint(uint64(e.limits.counters.Len()))
	e.limits.counters.FromOldest(func(k limitKey, c *counter) {
		w.Uint(uint64(k.kind))
		w.Bytes(k.id[:])
		w.time(c.start)
		w.Int(int64(c.n))
		w.bool(c.warned)
	})
	w.bucket(e.budgets.listener, perSecond(e.cfg.ListenerBudget))
	w.Uint(uint64(e.budgets.networks.Len()))
	e.budgets.networks.FromOldest(func(k hostID, b *tokenbucket.Bucket) {
		w.Bytes(k[:])
		w.bucket(*b, perSecond(e.cfg.NetworkBudget))
	})
	w.Uint(uint64(e.proofs.Len()))
	e.proofs.FromOldest(func(p wamble.Peer, m *remembered) {
		w.peer(p)
		w.time(m.at)
		w.token(m.vouched)
	})
}
