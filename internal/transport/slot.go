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

// connLimiter bounds the TCP connections of a listener, in all and per host. When all places are
// taken, the host that holds most loses its idlest connection; among hosts that hold the same
// number, the one whose network holds most. So a host that holds none always gets a place.
type connLimiter struct {
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
	slots           []*slot
}

// slot is one connection.
type slot struct {
	limiter *connLimiter
	host    *host
	index   int    // in host.slots; -1 if the place was given back
	cut     func() // ends the connection
	// proxy is the host of the trusted proxy at the far end, zero if there is none. The place
	// counts for the proxy between two requests that it passes on.
	proxy netip.Prefix

	use      atomic.Int32 // holds a use
	lastSeen atomic.Int64 // time of the last complete request or packet, since began
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

func newConnLimiter(max, maxHost int, evicted *atomic.Uint64) *connLimiter {
	return &connLimiter{max: max, maxHost: maxHost, evicted: evicted, hosts: map[netip.Prefix]*host{},
		networks: map[netip.Prefix]int{}}
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
func (l *connLimiter) take(ip netip.Addr, proxy bool, cut func()) *slot {
	p := &slot{limiter: l, cut: cut}
	prefix := wamble.HostOf(ip)
	if proxy {
		p.proxy = prefix
	}
	p.lastSeen.Store(int64(time.Since(began)))
	victim, ok := l.assign(p, prefix)
	l.evict(victim)
	if !ok {
		return nil
	}
	return p
}

func (l *connLimiter) evict(victim *slot) {
	if victim != nil {
		l.evicted.Add(1)
		victim.cut()
	}
}

// assign assigns a place to a host. It returns the connection that lost its place for that, if
// any, for the caller to close.
func (l *connLimiter) assign(p *slot, prefix netip.Prefix) (victim *slot, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := p.host
	if was != nil {
		if p.index < 0 || was.prefix == prefix {
			return nil, p.index >= 0
		}
		l.remove(p)
	}
	h := l.hosts[prefix]
	if h == nil {
		h = &host{prefix: prefix, network: networkOf(prefix)}
	}
	limit := l.maxHost
	if prefix == p.proxy {
		limit = l.max
	}
	if victim, ok = l.makeRoom(h, limit); !ok {
		if h = was; h == nil {
			return nil, false
		}
	}
	p.host, p.index = h, len(h.slots)
	l.setSlots(h, append(h.slots, p))
	return victim, ok
}

// move assigns the place of a connection from a trusted proxy to the client at ip. It returns
// false if that host is at its limit.
func (p *slot) move(ip netip.Addr) bool {
	if p == nil || !p.proxy.IsValid() {
		return true
	}
	victim, ok := p.limiter.assign(p, wamble.HostOf(ip))
	p.limiter.evict(victim)
	return ok
}

// moveFinal is move for the whole connection: every byte of it belongs to one client.
func (p *slot) moveFinal(ip netip.Addr) bool {
	ok := p.move(ip)
	p.proxy = netip.Prefix{}
	return ok
}

// requestDone records the end of a request, and assigns the place to the proxy again.
func (p *slot) requestDone() {
	p.setUse(resting)
	if p != nil && p.proxy.IsValid() {
		p.limiter.assign(p, p.proxy) // succeeds: the place was counted for the client until now
	}
}

// makeRoom reports whether a host may have one more place, and returns the connection that lost
// its place for that, if any. A host at its limit, or with as many places as any other host,
// can only replace an idle connection of its own.
func (l *connLimiter) makeRoom(h *host, limit int) (victim *slot, ok bool) {
	switch held := len(h.slots); {
	case held < limit && l.taken < l.max:
		return nil, true
	case held < limit && held < len(l.levels)-1:
		victim = l.heaviest().idlest()
	case held == 0:
		return nil, false
	default:
		if victim = h.idlest(); !victim.idle() {
			return nil, false
		}
	}
	l.remove(victim)
	return victim, true
}

// heaviest returns the host that holds most places; among equals, the one whose network does.
func (l *connLimiter) heaviest() (heaviest *host) {
	compared := 0
	for h := range l.levels[len(l.levels)-1] {
		if heaviest == nil || l.networks[h.network] > l.networks[heaviest.network] {
			heaviest = h
		}
		if compared++; compared == maxEqual {
			break
		}
	}
	return heaviest
}

// idlest returns the connection that a host loses first.
func (h *host) idlest() *slot {
	first := h.slots[0]
	for _, p := range h.slots[1:] {
		a, b := p.use.Load(), first.use.Load()
		if a < b || a == b && p.lastSeen.Load() < first.lastSeen.Load() {
			first = p
		}
	}
	return first
}

// idle reports whether the connection may be replaced by another one of its host.
func (p *slot) idle() bool {
	return use(p.use.Load()) < engaged || time.Since(began)-time.Duration(p.lastSeen.Load()) > silentTime
}

// setUse records the time, and what the connection does from now on.
func (p *slot) setUse(u use) {
	if p != nil {
		p.lastSeen.Store(int64(time.Since(began)))
		p.use.Store(int32(u))
	}
}

// release frees the place, unless another connection has taken it.
func (p *slot) release() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.index >= 0 {
		p.limiter.remove(p)
	}
}

func (l *connLimiter) remove(p *slot) {
	held := p.host.slots
	last := held[len(held)-1]
	held[p.index], last.index = last, p.index
	held[len(held)-1] = nil
	p.index = -1
	l.setSlots(p.host, held[:len(held)-1])
}

// setSlots sets the places that a host holds: one more or one less than before.
func (l *connLimiter) setSlots(h *host, held []*slot) {
	was, is := len(h.slots), len(held)
	h.slots = held
	l.taken += is - was
	if l.networks[h.network] += is - was; l.networks[h.network] == 0 {
		delete(l.networks, h.network)
	}
	if was == 0 {
		l.hosts[h.prefix] = h
	} else {
		delete(l.levels[was], h)
	}
	if is == 0 {
		delete(l.hosts, h.prefix)
	} else {
		for len(l.levels) <= is {
			l.levels = append(l.levels, map[*host]struct{}{})
		}
		l.levels[is][h] = struct{}{}
	}
	for n := len(l.levels); n > 0 && len(l.levels[n-1]) == 0; n = len(l.levels) {
		l.levels = l.levels[:n-1]
	}
}

// limitedListener gives every connection a place. A connection without one is closed right
// after accept, before it costs a goroutine or a buffer.
type limitedListener struct {
	tcpListener
	limiter  *connLimiter
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
			lc.slot = l.limiter.take(ip, proxy, func() { reset(c) })
		}, l.panicked)
		if lc.slot != nil {
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
	slot         *slot
	introduction *introduction // of a trusted proxy; nil for other connections
}

// Read reads what follows the introduction.
func (c *limitedConn) Read(b []byte) (int, error) {
	i := c.introduction
	if i == nil {
		return c.TCPConn.Read(b)
	}
	i.read(c.TCPConn, c.slot)
	if len(i.unread) > 0 {
		n := copy(b, i.unread)
		i.unread = i.unread[n:]
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
		if i.read(c.TCPConn, c.slot); i.from.IsValid() {
			return net.TCPAddrFromAddrPort(i.from)
		}
	}
	return c.TCPConn.RemoteAddr()
}

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.slot.release()
	return err
}

// slotOf returns the place of a connection, plain or TLS; nil if it has none.
func slotOf(c net.Conn) *slot {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if l, ok := c.(*limitedConn); ok {
		return l.slot
	}
	return nil
}
