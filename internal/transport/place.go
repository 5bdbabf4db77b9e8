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

// places bounds the TCP connections of a listener, in all and per host. When all places are
// taken, the host that holds most loses its idlest connection; among hosts that hold the same
// number, the one whose network holds most. So a host that holds none always gets a place.
type places struct {
	max, maxHost int
	evicted      *atomic.Uint64

	mu       sync.Mutex
	taken    int
	hosts    map[netip.Prefix]*host // see wamble.HostOf
	networks map[netip.Prefix]int   // places held by each; see networkOf
	// levels[n] has the hosts that hold n places; the last level is not empty.
	levels []map[*host]struct{}
}

// host is an address prefix that holds places.
type host struct {
	prefix, network netip.Prefix
	held            []*place
}

// place is one connection.
type place struct {
	in    *places
	host  *host
	index int    // in host.held; -1 if the place was given back
	cut   func() // ends the connection
	// proxy is the host of the trusted proxy at the far end, zero if there is none. The place
	// counts for the proxy between two requests that it passes on.
	proxy netip.Prefix

	use   atomic.Int32 // holds a use
	heard atomic.Int64 // time of the last complete request or packet, since began
}

// use is what a connection does, idlest first.
type use int32

const (
	halfOpen use = iota // no complete request, or no packet after a WebSocket's handshake
	resting             // between two requests
	engaged             // a request is in progress, or packets come
)

const (
	// silentTime is the silence after which an engaged connection may be closed for another one
	// of its host.
	silentTime = time.Minute
	// maxEqual is how many hosts with the same number of places are compared.
	maxEqual = 64
)

// began is the origin of monotonic times.
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

// take returns a place for a connection from ip, nil if there is none. It may close another
// connection for it. The limit per host does not apply to a trusted proxy.
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

// seat assigns a place to a host. It returns the connection that lost its place for that, if
// any, for the caller to close.
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

// move assigns the place of a connection from a trusted proxy to the client at ip. It returns
// false if that host is at its limit.
func (p *place) move(ip netip.Addr) bool {
	if p == nil || !p.proxy.IsValid() {
		return true
	}
	victim, ok := p.in.seat(p, wamble.HostOf(ip))
	p.in.evict(victim)
	return ok
}

// settle is move for the whole connection: every byte of it belongs to one client.
func (p *place) settle(ip netip.Addr) bool {
	ok := p.move(ip)
	p.proxy = netip.Prefix{}
	return ok
}

// rest records the end of a request, and assigns the place to the proxy again.
func (p *place) rest() {
	p.hear(resting)
	if p != nil && p.proxy.IsValid() {
		p.in.seat(p, p.proxy) // succeeds: the place was counted for the client until now
	}
}

// makeRoom reports whether a host may have one more place, and returns the connection that lost
// its place for that, if any. A host at its limit, or with as many places as any other host,
// can only replace an idle connection of its own.
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

// heaviest returns the host that holds most places; among equals, the one whose network does.
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

// idle reports whether the connection may be replaced by another one of its host.
func (p *place) idle() bool {
	return use(p.use.Load()) < engaged || time.Since(began)-time.Duration(p.heard.Load()) > silentTime
}

// hear records the time, and what the connection does from now on.
func (p *place) hear(u use) {
	if p != nil {
		p.heard.Store(int64(time.Since(began)))
		p.use.Store(int32(u))
	}
}

// giveBack frees the place, unless another connection has taken it.
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

// hold sets the places that a host holds: one more or one less than before.
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

// limitedListener gives every connection a place. A connection without one is closed right
// after accept, before it costs a goroutine or a buffer.
type limitedListener struct {
	tcpListener
	places   *places
	panicked func(error)           // receives panics; may be nil
	trusts   func(netip.Addr) bool // reports whether an address is a trusted proxy's; nil if there are none
	patience time.Duration         // how long a proxy may take to send its introduction
}

// tcpListener has the methods of *net.TCPListener that are used.
type tcpListener interface {
	net.Listener
	AcceptTCP() (*net.TCPConn, error)
}

// Accept returns the next connection that has a place. A panic ends only the connection that it
// is about.
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

// reset closes a connection with a TCP reset, which leaves no TIME_WAIT.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	*net.TCPConn
	place        *place
	introduction *introduction // of a trusted proxy; nil for other connections
}

// Read reads what follows the introduction.
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

// RemoteAddr returns the client that the introduction names, or else the far end of the TCP
// connection.
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

// placeOf returns the place of a connection, plain or TLS; nil if it has none.
func placeOf(c net.Conn) *place {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if l, ok := c.(*limitedConn); ok {
		return l.place
	}
	return nil
}
