package transport

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
)

// places are the TCP connections that a listener holds, bounded in all and per
// host. When all are taken, the host that holds most loses its idlest one; between
// hosts that hold the same, the one in the network that holds most. So a newcomer
// from a host that holds nothing always gets in.
type places struct {
	max, maxHost int
	evicted      *atomic.Uint64

	mu       sync.Mutex
	taken    int
	hosts    map[netip.Prefix]*host // see wamble.HostOf
	networks map[netip.Prefix]int   // places held by each; see networkOf
	// levels has the hosts by how many places they hold; the last one is not empty.
	levels []map[*host]struct{}
}

// host is who holds places.
type host struct {
	prefix, network netip.Prefix
	held            []*place
}

// place is one connection.
type place struct {
	in    *places
	host  *host
	index int    // in host.held; -1: it was given back
	cut   func() // ends the connection
	// proxy is the host of the trusted proxy that the connection comes from, which has
	// the place between two requests that it passes on. Zero: it comes from none.
	proxy netip.Prefix

	use   atomic.Int32 // a use
	heard atomic.Int64 // when the last request or packet came whole, since began
}

// use is what a connection does, idlest first.
type use int32

const (
	halfOpen use = iota // nothing has come whole: no request, or no packet after a WebSocket's handshake
	resting             // between two requests
	engaged             // a request is in progress, or packets come
)

const (
	// silentTime is after how much silence an engaged connection gives way to
	// another one of the same host.
	silentTime = time.Minute
	// maxEqual is how many hosts that hold the same are compared.
	maxEqual = 64
)

// began is the origin of times that no change of the wall clock moves.
var began = time.Now()

func newPlaces(max, maxHost int, evicted *atomic.Uint64) *places {
	return &places{max: max, maxHost: maxHost, evicted: evicted, hosts: map[netip.Prefix]*host{}, networks: map[netip.Prefix]int{}}
}

// networkOf returns the network that a host belongs to: a /24 of IPv4, a /48 of IPv6.
func networkOf(host netip.Prefix) netip.Prefix {
	bits := 48
	if host.Addr().Is4() {
		bits = 24
	}
	network, _ := host.Addr().Prefix(bits)
	return network
}

// take returns a place for a connection from ip, nil if there is none. It may end
// another connection for it. A trusted proxy has no limit of its own.
func (s *places) take(ip netip.Addr, proxy bool, cut func()) *place {
	p := &place{in: s, cut: cut}
	prefix := wamble.HostOf(ip)
	if proxy {
		p.proxy = prefix
	}
	p.heard.Store(int64(time.Since(began)))
	victim, ok := s.seat(p, prefix)
	s.evict(victim)
	if !ok {
		return nil
	}
	return p
}

func (s *places) evict(victim *place) {
	if victim != nil {
		s.evicted.Add(1)
		victim.cut()
	}
}

// seat makes a place one of a host. It returns the connection that has lost its own
// for that, if any, whose end is up to the caller.
func (s *places) seat(p *place, prefix netip.Prefix) (victim *place, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := p.host
	if was != nil {
		if p.index < 0 || was.prefix == prefix {
			return nil, p.index >= 0
		}
		s.remove(p)
	}
	h := s.hosts[prefix]
	if h == nil {
		h = &host{prefix: prefix, network: networkOf(prefix)}
	}
	limit := s.maxHost
	if prefix == p.proxy {
		limit = s.max
	}
	if victim, ok = s.makeRoom(h, limit); !ok {
		if h = was; h == nil {
			return nil, false
		}
	}
	p.host, p.index = h, len(h.held)
	s.hold(h, append(h.held, p))
	return victim, ok
}

// move makes the place of a connection from a trusted proxy one of whom it speaks
// for. It reports whether that host may have it.
func (p *place) move(ip netip.Addr) bool {
	if p == nil || !p.proxy.IsValid() {
		return true
	}
	victim, ok := p.in.seat(p, wamble.HostOf(ip))
	p.in.evict(victim)
	return ok
}

// settle is move for good: the proxy passes on this connection alone.
func (p *place) settle(ip netip.Addr) bool {
	ok := p.move(ip)
	p.proxy = netip.Prefix{}
	return ok
}

// rest notes the end of a request. A proxy has its place back.
func (p *place) rest() {
	p.hear(resting)
	if p != nil && p.proxy.IsValid() {
		p.in.seat(p, p.proxy) // there is room: it was counted elsewhere before
	}
}

// makeRoom reports whether a host may have one more place, and returns the
// connection that has lost its own for that, if any. A host that is at its limit, or
// holds as many as any other, can take only from itself, and only what is idle.
func (s *places) makeRoom(h *host, limit int) (victim *place, ok bool) {
	switch held := len(h.held); {
	case held < limit && s.taken < s.max:
		return nil, true
	case held < limit && held < len(s.levels)-1:
		victim = s.heaviest().idlest()
	case held == 0:
		return nil, false
	default:
		if victim = h.idlest(); !victim.idle() {
			return nil, false
		}
	}
	s.remove(victim)
	return victim, true
}

// heaviest returns the host that holds most, and whose network does.
func (s *places) heaviest() (heaviest *host) {
	compared := 0
	for h := range s.levels[len(s.levels)-1] {
		if heaviest == nil || s.networks[h.network] > s.networks[heaviest.network] {
			heaviest = h
		}
		if compared++; compared == maxEqual {
			break
		}
	}
	return heaviest
}

// idlest returns the connection that a host loses first.
func (h *host) idlest() *place {
	first := h.held[0]
	for _, p := range h.held[1:] {
		a, b := p.use.Load(), first.use.Load()
		if a < b || a == b && p.heard.Load() < first.heard.Load() {
			first = p
		}
	}
	return first
}

// idle reports whether a connection gives way to another one of its own host.
func (p *place) idle() bool {
	return use(p.use.Load()) < engaged || time.Since(began)-time.Duration(p.heard.Load()) > silentTime
}

// hear notes that a request or a packet has come whole, or what becomes of the
// connection then.
func (p *place) hear(u use) {
	if p != nil {
		p.heard.Store(int64(time.Since(began)))
		p.use.Store(int32(u))
	}
}

// giveBack frees the place, if it was not taken away.
func (p *place) giveBack() {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.index >= 0 {
		p.in.remove(p)
	}
}

func (s *places) remove(p *place) {
	held := p.host.held
	last := held[len(held)-1]
	held[p.index], last.index = last, p.index
	held[len(held)-1] = nil
	p.index = -1
	s.hold(p.host, held[:len(held)-1])
}

// hold notes what a host holds from now on: one place more or one less.
func (s *places) hold(h *host, held []*place) {
	was, is := len(h.held), len(held)
	h.held = held
	s.taken += is - was
	if s.networks[h.network] += is - was; s.networks[h.network] == 0 {
		delete(s.networks, h.network)
	}
	if was == 0 {
		s.hosts[h.prefix] = h
	} else {
		delete(s.levels[was], h)
	}
	if is == 0 {
		delete(s.hosts, h.prefix)
	} else {
		for len(s.levels) <= is {
			s.levels = append(s.levels, map[*host]struct{}{})
		}
		s.levels[is][h] = struct{}{}
	}
	for n := len(s.levels); n > 0 && len(s.levels[n-1]) == 0; n = len(s.levels) {
		s.levels = s.levels[:n-1]
	}
}

// limitedListener gives every connection a place. One that finds none is closed as
// soon as it is accepted, before it costs a goroutine or a buffer.
type limitedListener struct {
	tcpListener
	places   *places
	panicked func(error)           // nil: nobody is told
	trusts   func(netip.Addr) bool // whether an address is a trusted proxy's; nil: none is
	patience time.Duration         // for what a proxy says first
}

// tcpListener is what is needed of a *net.TCPListener.
type tcpListener interface {
	net.Listener
	AcceptTCP() (*net.TCPConn, error)
}

// Accept returns the next connection that has a place. A panic over one ends that one:
// the others are still to be accepted.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		lc := &limitedConn{TCPConn: c}
		guard.Run("the accepting of a connection", func() {
			ip := remoteAddr(c).Addr()
			proxy := l.trusts != nil && l.trusts(ip)
			if proxy {
				lc.introduction = &introduction{patience: l.patience}
			}
			lc.place = l.places.take(ip, proxy, func() { reset(c) })
		}, l.panicked)
		if lc.place != nil {
			return lc, nil
		}
		reset(c)
	}
}

// reset closes a connection without a word and without a TIME_WAIT to keep.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	*net.TCPConn
	place        *place
	introduction *introduction // of a trusted proxy; nil: it comes from none
}

// Read reads what comes behind the introduction.
func (c *limitedConn) Read(b []byte) (int, error) {
	i := c.introduction
	if i == nil {
		return c.TCPConn.Read(b)
	}
	i.hear(c.TCPConn, c.place)
	if len(i.rest) > 0 {
		n := copy(b, i.rest)
		i.rest = i.rest[n:]
		return n, nil
	}
	if i.err != nil {
		return 0, i.err
	}
	return c.TCPConn.Read(b)
}

// RemoteAddr is the far end that the introduction names, if there is one.
func (c *limitedConn) RemoteAddr() net.Addr {
	if i := c.introduction; i != nil {
		if i.hear(c.TCPConn, c.place); i.from.IsValid() {
			return net.TCPAddrFromAddrPort(i.from)
		}
	}
	return c.TCPConn.RemoteAddr()
}

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.place.giveBack()
	return err
}

// placeOf returns the place of a connection, which may speak TLS; nil if it has none.
func placeOf(c net.Conn) *place {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if l, ok := c.(*limitedConn); ok {
		return l.place
	}
	return nil
}
