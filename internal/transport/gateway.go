package transport

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble"

	"wamble/internal/guard"
)

// GatewayOptions configure the WebSocket side of a port.
type GatewayOptions struct {
	Off     bool     // no WebSocket: its path answers "not found"
	Path    string   // of the handshake; "/ws" when empty. Path/json carries JSON
	Origins []string // allowed origins besides the request's own host, like "https://example.org"; "*" allows any
	Timing  Timing
}

func (o GatewayOptions) withDefaults() GatewayOptions {
	if o.Path == "" {
		o.Path = "/ws"
	}
	o.Timing = o.Timing.withDefaults()
	return o
}

// gateway serves WebSocket connections: an http.Handler that upgrades requests to connections
// and puts their packets into the inboxes.
type gateway struct {
	shards *shards

	mu       sync.RWMutex // guards panicked to empty
	panicked func(error)  // receives panics; may be nil
	options  GatewayOptions
	conns    map[uint32]*Conn
	serving  int // handlers that have, or are about to have, a connection; shutdown waits for them
	closed   bool
	empty    sync.Cond // signalled when serving reaches 0

	ended func(lasted time.Duration) // called for each connection and each failed handshake; set before Serve

	refused, overrun atomic.Uint64
}

func newGateway(o GatewayOptions, s *shards) *gateway {
	g := &gateway{shards: s, conns: map[uint32]*Conn{}}
	g.empty.L = &g.mu
	g.configure(o)
	return g
}

// configure sets the options of future connections.
func (g *gateway) configure(o GatewayOptions) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.options = o.withDefaults()
}

func (g *gateway) settings() GatewayOptions {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.options
}

var routes atomic.Uint32

// nextRoute returns the number of a new connection. Number 0 means UDP and is skipped.
func nextRoute() uint32 {
	for {
		if n := routes.Add(1); n != 0 {
			return n
		}
	}
}

// ServeHTTP does the handshake and then serves the connection until its end.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := g.settings()
	key, speaksJSON, no := checkHandshake(r, o)
	if no == nil && !o.allowsOrigin(r) {
		no = &refusal{http.StatusForbidden, "origin not allowed"}
	}
	if no != nil {
		g.refused.Add(1)
		no.write(w)
		return
	}
	if !g.enter() {
		g.refused.Add(1)
		(&refusal{http.StatusServiceUnavailable, "the server goes away"}).write(w)
		return
	}
	defer g.leave()
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	// The answer is written alone: the original client discards bytes that it reads behind the
	// answer. Everything else that a server sends answers a packet.
	nc.SetDeadline(time.Now().Add(o.Timing.Handshake))
	if _, err := nc.Write(switching(key)); err != nil {
		nc.Close()
		return
	}
	nc.SetDeadline(time.Time{})
	keepAlive(nc)
	peer := wamble.Peer{Addr: farEnd(r), Route: nextRoute(), Node: g.shards.self()}
	if speaksJSON {
		g.serve(newJSONConn(nc, rw.Reader, peer, o.Timing))
		return
	}
	g.serve(newConn(nc, rw.Reader, peer, o.Timing, false, answersPings(r, key)))
}

// allowsOrigin reports whether a request may open a connection: its Origin is allowed or is its
// own host. Programs other than browsers send no Origin and are allowed.
func (o GatewayOptions) allowsOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(o.Origins, "*") {
		return true
	}
	if slices.ContainsFunc(o.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// serve delivers the packets of one connection until its end. When the inbox is stopped, the
// connection is being closed: further packets are read and dropped, so that the far end
// receives the close frame.
func (g *gateway) serve(c *Conn) {
	from := &source{peer: c.peer, home: -1}
	c.source = from
	place := slotOf(c.nc)
	place.setUse(halfOpen)
	g.add(c)
	g.reportPanic(guard.Call("the reader of a connection", func() error { return g.read(c, from, place) }))
	c.Abort() // no effect unless the reader has panicked
	<-c.written
	g.reportPanic(c.crash)
	g.remove(c)
	g.shards.end(from)
}

// read delivers the packets of a connection until its end. It always returns nil.
func (g *gateway) read(c *Conn, from *source, at *slot) error {
	for {
		packet, err := c.Next()
		if err != nil {
			c.Finish(err)
			return nil
		}
		at.setUse(engaged)
		g.shards.put(from, packet)
	}
}

// setPanicHandler sets the function that receives panics, which may be nil.
func (g *gateway) setPanicHandler(panicked func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.panicked = panicked
}

// reportPanic reports a panic of a connection; err may be nil.
func (g *gateway) reportPanic(err error) {
	if err == nil {
		return
	}
	g.mu.RLock()
	tell := g.panicked
	g.mu.RUnlock()
	if tell != nil {
		tell(err)
	}
}

// keepAlive makes the kernel detect within two minutes that a far end is gone.
func keepAlive(nc net.Conn) {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = t.NetConn()
	}
	if c, ok := nc.(*limitedConn); ok {
		c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 45 * time.Second, Interval: 15 * time.Second,
			Count: 5})
	}
}

func (g *gateway) add(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[c.peer.Route] = c
	if g.closed { // shutdown has begun since enter
		c.Close(CloseGoingAway, "")
	}
}

func (g *gateway) remove(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c.peer.Route)
}

// enter reports whether another connection may be opened. If so, shutdown waits until leave.
func (g *gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.serving++
	return true
}

func (g *gateway) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.serving--; g.serving == 0 {
		g.empty.Broadcast()
	}
}

// send queues a packet for a connection; it drops the packet if the connection is gone.
func (g *gateway) send(route uint32, packet []byte) {
	g.mu.RLock()
	c := g.conns[route]
	g.mu.RUnlock()
	if c != nil && c.Send(packet) == ErrSlowReader {
		g.overrun.Add(1)
	}
}

// disconnect closes one connection.
func (g *gateway) disconnect(route uint32, code uint16, reason string) {
	g.mu.RLock()
	c := g.conns[route]
	g.mu.RUnlock()
	if c != nil {
		c.Close(code, reason)
	}
}

// shutdown closes all connections, with a close frame, or at once when code is 0, refuses new
// ones, and waits until all are gone. When the context ends first, the remaining ones are
// aborted.
func (g *gateway) shutdown(ctx context.Context, code uint16) {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.each(func(c *Conn) {
		if code == 0 {
			c.Abort()
		} else {
			c.Close(code, "")
		}
	})
	stop := context.AfterFunc(ctx,
		func() { guard.Run("the end of a port", func() { g.each((*Conn).Abort) }, g.reportPanic) })
	defer stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.serving > 0 {
		g.empty.Wait()
	}
}

func (g *gateway) each(f func(*Conn)) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range g.conns {
		f(c)
	}
}

// count returns the number of connections.
func (g *gateway) count() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.conns)
}
