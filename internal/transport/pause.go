package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Pauser pauses an HTTP server, so that no request is in progress while its listener is handed
// over.
type Pauser struct {
	listener *pausableListener
	busy     busy
	web      *http.Server
	trusts   func(netip.Addr) bool // reports whether an address is a trusted proxy's; nil if there are none
	evicted  atomic.Uint64         // connections closed to make room for another
}

// NewPauser returns a pauser of a server that does not serve yet. The server must serve on the
// listener that Listen returns.
func NewPauser(l *net.TCPListener, web *http.Server) *Pauser {
	p := &Pauser{listener: &pausableListener{TCPListener: l}, busy: busy{conns: map[net.Conn]bool{}}, web: web}
	web.ConnState = func(c net.Conn, s http.ConnState) {
		switch s {
		case http.StateActive: // the head of a request is complete
			slotOf(c).setUse(engaged)
		case http.StateIdle:
			slotOf(c).requestDone()
		}
		p.busy.note(c, s)
	}
	return p
}

// Listen returns a listener that can be paused. It bounds the connections, in all and per host,
// as places says. Panicked, which may be nil, receives panics; each ends only its own
// connection.
func (p *Pauser) Listen(max, maxHost int, panicked func(error)) net.Listener {
	return &limitedListener{p.listener, newConnLimiter(max, maxHost, &p.evicted), panicked, p.trusts,
		p.web.ReadHeaderTimeout}
}

// headTime is how long a pause waits for incomplete heads of requests.
const headTime = 250 * time.Millisecond

// Pause leaves new connections in the kernel's queue, closes those that are idle between two
// requests (a browser sends its next request over another connection), and waits until at most
// left requests are in progress, or ctx ends. Connections without a complete head of a request
// within headTime are closed.
func (p *Pauser) Pause(ctx context.Context, allowed int) error {
	select {
	case <-p.listener.pause():
	case <-ctx.Done():
		return ctx.Err()
	}
	p.web.SetKeepAlivesEnabled(false)
	quiet := p.busy.downTo(allowed)
	late := time.NewTimer(headTime)
	defer late.Stop()
	for {
		select {
		case <-quiet:
			return nil
		case <-late.C:
			p.busy.cutHalf()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Resume accepts connections again.
func (p *Pauser) Resume() {
	p.web.SetKeepAlivesEnabled(true)
	p.listener.resume()
}

// Pause pauses HTTP until no request is in progress. WebSocket and UDP continue.
func (p *Port) Pause(ctx context.Context) error {
	if p.first != p {
		return nil
	}
	return p.pauser.Pause(ctx, 0)
}

// Resume accepts connections again.
func (p *Port) Resume() {
	if p.first == p {
		p.pauser.Resume()
	}
}

// CloseConns closes every WebSocket connection, after what is queued for it, with a close code.
// It returns when all of that is in the kernel, or ctx ends; it does not wait for answers of
// the far ends. New connections are accepted.
func (p *Port) CloseConns(ctx context.Context, code uint16) {
	if p.first != p {
		return
	}
	var leaving []*Conn
	p.gateway.each(func(c *Conn) {
		c.Close(code, "")
		leaving = append(leaving, c)
	})
	for _, c := range leaving {
		select {
		case <-c.written:
		case <-ctx.Done():
			return
		}
	}
}

// pausableListener is a TCP listener that can leave connections in the kernel's queue. One
// goroutine accepts.
type pausableListener struct {
	*net.TCPListener
	mu      sync.Mutex
	resumed chan struct{} // closed by resume; nil if not paused
	// accepting says that the server may not know the last accepted connection yet: it knows
	// that one when it accepts the next.
	accepting bool
	known     chan struct{} // closed when the server knows all connections; nil if no pause waits
}

// AcceptTCP waits while the listener is paused, then accepts a connection.
func (l *pausableListener) AcceptTCP() (*net.TCPConn, error) {
	for {
		if resumed := l.beforeAccept(); resumed != nil {
			<-resumed
			continue
		}
		c, err := l.TCPListener.AcceptTCP()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
	}
}

// beforeAccept returns the channel to wait for before the next accept, nil if the listener is
// not paused. If it is paused, the server now knows all connections.
func (l *pausableListener) beforeAccept() (resumed chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepting = l.resumed == nil
	if l.known != nil && !l.accepting {
		close(l.known)
		l.known = nil
	}
	return l.resumed
}

// pause stops accepting. The returned channel is closed when the server knows all accepted
// connections.
func (l *pausableListener) pause() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resumed == nil {
		l.resumed = make(chan struct{})
		l.SetDeadline(time.Unix(1, 0)) // interrupts AcceptTCP
	}
	if l.known == nil {
		l.known = make(chan struct{})
	}
	known := l.known
	if !l.accepting {
		close(l.known)
		l.known = nil
	}
	return known
}

func (l *pausableListener) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resumed != nil {
		l.SetDeadline(time.Time{})
		close(l.resumed)
		l.resumed = nil
	}
}

// Close closes the listener and ends a paused AcceptTCP.
func (l *pausableListener) Close() error {
	err := l.TCPListener.Close()
	l.resume()
	return err
}

// busy tracks the connections with a request in progress, or without a request so far.
type busy struct {
	mu    sync.Mutex
	conns map[net.Conn]bool // whether a request is in progress
	quiet chan struct{}     // closed when at most few are left; nil if no pause waits
	few   int
}

// note is the ConnState hook of a server.
func (b *busy) note(c net.Conn, s http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s {
	case http.StateNew, http.StateActive:
		b.conns[c] = s == http.StateActive
	default:
		delete(b.conns, c)
	}
	b.check()
}

// downTo returns a channel that is closed when at most n connections are busy.
func (b *busy) downTo(n int) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	quiet := make(chan struct{})
	b.quiet, b.few = quiet, n
	b.check()
	return quiet
}

// cutHalf closes the connections on which no head of a request is complete. The server reports
// their end to note.
func (b *busy) cutHalf() {
	b.mu.Lock()
	var half []net.Conn
	for c, active := range b.conns {
		if !active {
			half = append(half, c)
		}
	}
	b.mu.Unlock()
	for _, c := range half {
		c.Close()
	}
}

func (b *busy) check() {
	if b.quiet != nil && len(b.conns) <= b.few {
		close(b.quiet)
		b.quiet = nil
	}
}
