package link

import (
	"time"

	"wamble/wire"
)

// Restore returns a server that goes on where a snapshot was taken: to the same
// calls it answers with the same bytes. Now may be of another epoch than the
// snapshot's. It returns ErrState when the bytes are damaged or of another
// version.
func Restore(cfg Config, now time.Duration, state []byte) (*Server, error) {
	s := NewServer(cfg)
	s.now = now
	r := &reader{b: state, now: now}
	if string(r.take(len(stateMagic))) != stateMagic || r.num() != stateVersion {
		return nil, ErrState
	}
	s.transfer = uint32(r.num())
	s.table.serial = r.num()
	for _, row := range stats {
		*row.of(&s.stats) = r.num()
	}
	m := &revival{reader: r, s: s}
	m.packets = listOf(r, m.packet)
	m.sessions = listOf(r, m.session)
	m.endpoints = listOf(r, m.endpoint)
	for _, sess := range m.sessions {
		m.ties(sess)
	}
	m.tables()
	if r.bad || len(r.b) > 0 || !m.chained() {
		return nil, ErrState
	}
	for _, k := range m.packets {
		s.pool.drop(k) // the reference of the list
	}
	return s, nil
}

// revival rebuilds a server from a state.
type revival struct {
	*reader
	s         *Server
	packets   []*packet
	sessions  []*session
	endpoints []*endpoint
}

// packet reads one that at least has a header, and an envelope if it is a
// fragment.
func (m *revival) packet() *packet {
	b := m.take(m.count())
	h, err := wire.Peek(b)
	if err != nil || len(b) > wire.MaxPacket || h.Flags&wire.FlagFragment != 0 && len(b) < wire.HeaderSize+wire.EnvelopeSize {
		m.fail()
		b = make([]byte, wire.HeaderSize)
	}
	return m.s.pool.copyOf(b)
}

// ref reads a reference to a packet, and counts it.
func (m *revival) ref() *packet {
	i := m.index(len(m.packets))
	if m.bad {
		return nil
	}
	m.packets[i].refs++
	return m.packets[i]
}

func (m *revival) refs() []*packet { return listOf(m.reader, m.ref) }

func (m *revival) session() *session {
	sess := m.s.table.addSession()
	m.s.table.serial-- // it has its number already
	sess.serial = m.num()
	sess.token = m.token()
	sess.win.max = uint32(m.num())
	sess.win.low = uint32(m.num())
	sess.win.used = m.bool()
	for i := range sess.win.bits {
		sess.win.bits[i] = m.num()
	}
	sess.epoch = uint32(m.num())
	sess.homeSince = m.time()
	sess.granted = m.token()
	sess.claimed = m.bool()
	for i := range sess.history.ring {
		sess.history.ring[i] = m.print()
	}
	sess.history.next = uint8(m.index(len(sess.history.ring)))
	sess.rebinds.used = int(m.int())
	sess.rebinds.at = m.time()
	sess.kept = listOf(m.reader, func() terminal {
		return terminal{of: m.print(), at: m.time(), packets: m.refs()}
	})
	if len(sess.kept) > maxTerminals || sess.serial == 0 || sess.win.max-sess.win.low >= windowSize {
		m.fail()
	}
	return sess
}

func (m *revival) endpoint() *endpoint {
	t := &m.s.table
	i := m.index(len(m.sessions))
	peer := m.peer()
	if m.bad || t.endpoints[peer] != nil {
		m.fail()
		return nil
	}
	e := t.add(0, peer, m.sessions[i])
	t.serial-- // it has its number already
	t.delist(e)
	e.serial = m.num()
	e.out = uint32(m.num())
	e.rtt = rtt{smooth: m.span(), vary: m.span()}
	e.proof = proof{proven: m.bool(), vouched: m.token(), credit: int(m.int())}
	e.seen = m.time()
	t.timers.push(e, m.time())
	t.enlist(e)
	chunks := 0
	e.queue = listOf(m.reader, func() pending {
		p := pending{k: m.ref(), sends: int(m.int()), chunk: m.bool(), sent: m.time(), due: m.time()}
		if p.chunk {
			chunks++
		}
		return p
	})
	e.bundles = listOf(m.reader, func() bundle {
		b := bundle{chunks: m.refs()}
		b.at = m.index(len(b.chunks))
		return b
	})
	if e.serial == 0 || chunks != min(len(e.bundles), 1) {
		m.fail()
	}
	return e
}

// ties sets the addresses and the home of a session, and the chain that begins
// with it.
func (m *revival) ties(sess *session) {
	n := len(sess.addrs)
	addrs := listOf(m.reader, func() *endpoint { return m.member(sess) })
	home := m.member(sess)
	chain := listOf(m.reader, func() int { return m.index(len(m.sessions)) })
	if m.bad || n == 0 || n > maxAddresses || len(addrs) != n || repeats(addrs) {
		m.fail()
		return
	}
	sess.addrs, sess.home = addrs, home
	first := m.s.table.byToken[sess.token]
	if len(chain) > 0 && (first != nil || m.sessions[chain[0]] != sess || sess.token.IsZero()) {
		m.fail()
		return
	}
	for i := len(chain) - 1; i >= 0; i-- {
		c := m.sessions[chain[i]]
		if c.token != sess.token || c.prev != nil || c.next != nil || m.s.table.byToken[c.token] == c {
			m.fail()
			return
		}
		m.s.table.chain(c)
	}
}

func repeats(list []*endpoint) bool {
	for i, e := range list {
		for _, f := range list[:i] {
			if e == f {
				return true
			}
		}
	}
	return false
}

// chained reports whether every session with a token is found by it.
func (m *revival) chained() bool {
	for _, sess := range m.sessions {
		if !sess.token.IsZero() && sess.prev == nil && m.s.table.byToken[sess.token] != sess {
			return false
		}
	}
	return true
}

// member reads the place of an endpoint of sess.
func (m *revival) member(sess *session) *endpoint {
	i := m.index(len(m.endpoints))
	if m.bad || m.endpoints[i].sess != sess {
		m.fail()
		return nil
	}
	return m.endpoints[i]
}

func (m *revival) tables() {
	s := m.s
	for range m.count() {
		key := limitKey{kind: limitKind(m.num())}
		copy(key.id[:], m.take(m.count()))
		*s.limits.counters.Use(key) = counter{start: m.time(), n: int(m.int()), told: m.bool()}
	}
	s.budgets.listener = flow{used: int(m.int()), at: m.time()}
	for range m.count() {
		var key hostID
		copy(key[:], m.take(m.count()))
		*s.budgets.networks.Use(key) = flow{used: int(m.int()), at: m.time()}
	}
	for range m.count() {
		p := m.peer()
		*s.proofs.Use(p) = remembered{at: m.time(), vouched: m.token()}
	}
}
