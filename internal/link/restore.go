package link

import (
	"time"

	"wamble"
	"wamble/internal/pack"
	"wamble/wire"
)

// Restore returns a server that continues from a snapshot: to the same calls it answers with
// the same bytes. Now may be of another epoch than the snapshot's. It returns ErrState if the
// bytes are damaged or of another version.
func Restore(cfg Config, now time.Duration, state []byte) (*Endpoint, error) {
	s := NewEndpoint(cfg)
	s.now = now
	r := &reader{pack.NewReader(state), now}
	if string(r.Take(len(stateMagic))) != stateMagic || r.Uint() != stateVersion {
		return nil, ErrState
	}
	s.transfer = r.Uint32()
	s.table.serial = r.Uint()
	for _, row := range stats[:stateStats] {
		*row.of(&s.stats) = r.Uint()
	}
	m := &restorer{reader: r, s: s}
	m.packets = listOf(r, m.packet)
	m.sessions = listOf(r, m.session)
	m.paths = listOf(r, m.path)
	for _, sess := range m.sessions {
		m.ties(sess)
	}
	m.tables()
	if !r.Ended() || !m.chained() {
		return nil, ErrState
	}
	for _, k := range m.packets {
		s.pool.drop(k) // the list's own reference
	}
	return s, nil
}

// restorer rebuilds a server from a state.
type restorer struct {
	*reader
	s        *Endpoint
	packets  []*packet
	sessions []*session
	paths    []*path
}

// packet reads a packet, which must have a header, and an envelope if it is a fragment.
func (m *restorer) packet() *packet {
	b := m.Bytes()
	h, err := wire.Peek(b)
	if err != nil || len(b) > wire.MaxPacket || h.Flags&wire.FlagFragment != 0 &&
		len(b) < wire.HeaderSize+wire.EnvelopeSize {
		m.Fail()
		b = make([]byte, wire.HeaderSize)
	}
	return m.s.pool.copyOf(b)
}

// ref reads a reference to a packet and adds it to the packet's count.
func (m *restorer) ref() *packet {
	i := m.index(len(m.packets))
	if m.Bad() {
		return nil
	}
	m.packets[i].refs++
	return m.packets[i]
}

func (m *restorer) refs() []*packet { return listOf(m.reader, m.ref) }

func (m *restorer) session() *session {
	sess := m.s.table.addSession()
	m.s.table.serial-- // undo addSession's increment: the serial is read below
	sess.serial = m.Uint()
	sess.token = m.token()
	sess.win.max = m.Uint32()
	sess.win.low = m.Uint32()
	sess.win.used = m.bool()
	for i := range sess.win.bits {
		sess.win.bits[i] = m.Uint()
	}
	sess.epoch = m.Uint32()
	sess.homeSince = m.time()
	sess.granted = m.token()
	m.bits(&sess.claimed, &sess.readsAll)
	for i := range sess.history.ring {
		sess.history.ring[i] = m.print()
	}
	sess.history.next = uint8(m.index(len(sess.history.ring)))
	sess.rebinds = m.bucket(rebindLimit)
	sess.answers = listOf(m.reader, func() answer {
		return answer{of: m.print(), at: m.time(), packets: m.refs()}
	})
	if len(sess.answers) > maxAnswers || sess.serial == 0 || sess.win.max-sess.win.low >= windowSize {
		m.Fail()
	}
	return sess
}

func (m *restorer) path() *path {
	t := &m.s.table
	i := m.index(len(m.sessions))
	peer := m.peer()
	if m.Bad() || !t.mayAdd(peer, m.sessions[i]) {
		m.Fail()
		return nil
	}
	path := t.add(0, peer, m.sessions[i])
	t.serial-- // undo add's increment: the serial is read below
	t.delist(path)
	t.displace(path)
	path.serial = m.Uint()
	t.place(path)
	path.out = m.Uint32()
	path.rtt = rtt{smooth: m.span(), vary: m.span()}
	m.bits(&path.proof.proven, &path.acks)
	path.proof.vouched, path.proof.credit = m.token(), int(m.Int())
	path.seen = m.time()
	t.timers.push(path, m.time())
	t.enlist(path)
	path.queue = listOf(m.reader, func() pending {
		p := pending{k: m.ref(), sends: int(m.Int())}
		m.bits(&p.chunk, &p.pushed)
		p.sent, p.due = m.time(), m.time()
		return p
	})
	path.bundles = listOf(m.reader, func() bundle {
		b := bundle{chunks: m.refs()}
		b.at = m.index(len(b.chunks))
		return b
	})
	if path.serial == 0 || !m.Bad() && !path.chunked() {
		m.Fail()
	}
	return path
}

// chunked reports whether the chunks in the queue are current ones of bundles: one of each at most, and one if there
// are any bundles.
func (p *path) chunked() bool {
	queued, found := 0, 0
	for i := range p.queue {
		if !p.queue[i].chunk {
			continue
		}
		queued++
		for j := range p.queue[:i] {
			if p.queue[j].chunk && p.queue[j].k == p.queue[i].k {
				return false
			}
		}
		if p.bundleOf(p.queue[i].k) >= 0 {
			found++
		}
	}
	return queued == found && queued >= min(len(p.bundles), 1)
}

// mayAdd reports whether a valid state may have one more path of sess at peer.
func (t *table) mayAdd(peer wamble.Peer, sess *session) bool {
	n := 0
	for path := t.paths[peer]; path != nil; path = path.beside {
		if n++; path.sess == sess {
			return false
		}
	}
	return n < maxPerAddress
}

// ties reads the addresses and the home of a session, and the chain of its token if it begins
// with this session.
func (m *restorer) ties(sess *session) {
	n := len(sess.addrs)
	addrs := listOf(m.reader, func() *path { return m.member(sess) })
	home := m.member(sess)
	chain := listOf(m.reader, func() int { return m.index(len(m.sessions)) })
	if m.Bad() || n == 0 || n > maxAddresses || len(addrs) != n || repeats(addrs) {
		m.Fail()
		return
	}
	sess.addrs, sess.home = addrs, home
	first := m.s.table.byToken[sess.token]
	if len(chain) > 0 && (first != nil || m.sessions[chain[0]] != sess || sess.token.IsZero()) {
		m.Fail()
		return
	}
	for i := len(chain) - 1; i >= 0; i-- {
		c := m.sessions[chain[i]]
		if c.token != sess.token || c.prev != nil || c.next != nil || m.s.table.byToken[c.token] == c {
			m.Fail()
			return
		}
		m.s.table.chain(c)
	}
}

func repeats(list []*path) bool {
	for i, path := range list {
		for _, f := range list[:i] {
			if path == f {
				return true
			}
		}
	}
	return false
}

// chained reports whether every session with a token is indexed by it.
func (m *restorer) chained() bool {
	for _, sess := range m.sessions {
		if !sess.token.IsZero() && sess.prev == nil && m.s.table.byToken[sess.token] != sess {
			return false
		}
	}
	return true
}

// member reads the index of a path of sess and returns the path.
func (m *restorer) member(sess *session) *path {
	i := m.index(len(m.paths))
	if m.Bad() || m.paths[i].sess != sess {
		m.Fail()
		return nil
	}
	return m.paths[i]
}

func (m *restorer) tables() {
	s := m.s
	for range m.Count() {
		key := limitKey{kind: limitKind(m.Uint())}
		copy(key.id[:], m.Bytes())
		*s.limits.counters.Use(key) = counter{start: m.time(), n: int(m.Int()), warned: m.bool()}
	}
	s.budgets.listener = m.bucket(perSecond(s.cfg.ListenerBudget))
	for range m.Count() {
		var key hostID
		copy(key[:], m.Bytes())
		*s.budgets.networks.Use(key) = m.bucket(perSecond(s.cfg.NetworkBudget))
	}
	for range m.Count() {
		p := m.peer()
		*s.proofs.Use(p) = remembered{at: m.time(), vouched: m.token()}
	}
}
