package transport

import (
	"net"
	"net/netip"
	"sync"

	"wamble"
)

// connLimit counts connections against a limit in all and per host.
type connLimit struct {
	max, maxHost int
	taken        int
	hosts        map[netip.Prefix]int // see wamble.HostOf
}

// take reports whether there was a place, and takes it.
func (l *connLimit) take(host netip.Prefix) bool {
	if l.taken >= l.max || l.hosts[host] >= l.maxHost {
		return false
	}
	l.taken++
	l.hosts[host]++
	return true
}

func (l *connLimit) free(host netip.Prefix) {
	l.taken--
	if l.hosts[host]--; l.hosts[host] <= 0 {
		delete(l.hosts, host)
	}
}

// limitedListener closes connections over the limit as soon as they are
// accepted, before they cost a goroutine or a buffer.
type limitedListener struct {
	tcpListener
	mu    sync.Mutex
	limit connLimit
}

// tcpListener is what is needed of a *net.TCPListener.
type tcpListener interface {
	net.Listener
	AcceptTCP() (*net.TCPConn, error)
}

func newLimitedListener(l tcpListener, max, maxHost int) *limitedListener {
	return &limitedListener{
		tcpListener: l,
		limit:       connLimit{max: max, maxHost: maxHost, hosts: map[netip.Prefix]int{}},
	}
}

// Accept returns the next connection that has a place.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		host := wamble.HostOf(remoteAddr(c).Addr())
		l.mu.Lock()
		ok := l.limit.take(host)
		l.mu.Unlock()
		if ok {
			return &limitedConn{TCPConn: c, leave: sync.OnceFunc(func() { l.leave(host) })}, nil
		}
		c.SetLinger(0) // nothing to say, and no TIME_WAIT to keep
		c.Close()
	}
}

func (l *limitedListener) leave(host netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit.free(host)
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	*net.TCPConn
	leave func()
}

func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.leave()
	return err
}
