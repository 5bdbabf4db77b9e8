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

// GatewayOptions are what the WebSocket side of a port can be told.
type GatewayOptions struct {
	Off     bool     // there is no WebSocket: its path is "not found"
	Path    string   // of the handshake; "/ws" when empty. JSON is spoken at Path/json
	Origins []string // origins besides our own host, like "https://example.org"; "*" is any
	Timing  Timing
}

func (o GatewayOptions) withDefaults() GatewayOptions {
	if o.Path == "" {
		o.Path = "/ws"
	}
	o.Timing = o.Timing.withDefaults()
	return o
}

// gateway serves WebSocket connections: an http.Handler that turns requests
// into connections whose packets go to the inboxes.
type gateway struct {
	shards *shards

	mu       sync.RWMutex // guards what follows
	panicked func(error)  // nil: nobody is told
	options  GatewayOptions
	conns    map[uint32]*Conn
	serving  int // handlers that have, or are about to have, a connection
	closed   bool
	empty    sync.Cond // signalled when the last connection is gone

	ended func(lasted time.Duration) // is told of each connection, and of each failed handshake; set before Serve

	refused, overrun atomic.Uint64
}

func newGateway(o GatewayOptions, s *shards) *gateway {
	g := &gateway{shards: s, conns: map[uint32]*Conn{}}
	g.empty.L = &g.mu
	g.configure(o)
	return g
}

// configure changes the options for connections that come from now on.
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

// nextRoute numbers a connection, never with 0, which means UDP.
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
	// Nothing may travel together with the answer: the original client throws
	// away what it reads behind it. All else we send answers a packet.
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

// allowsOrigin refuses pages of other hosts, which a browser names. Programs
// that are no browser name none.
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

// serve delivers the packets of one connection until its end. When the inbox
// is stopped the connection is being closed: what it still sends is dropped, so
// that it hears the close frame.
func (g *gateway) serve(c *Conn) {
	from := &source{peer: c.peer, home: -1}
	c.source = from
	place := placeOf(c.nc)
	place.hear(halfOpen)
	g.add(c)
	g.caught(guard.Call("the reader of a connection", func() error { return g.read(c, from, place) }))
	c.Abort() // it has ended, unless its reader panicked
	<-c.written
	g.caught(c.crash)
	g.remove(c)
	g.shards.end(from)
}

// read delivers the packets of a connection until its end. It has no other error
// than a panic.
func (g *gateway) read(c *Conn, from *source, at *place) error {
	for {
		packet, err := c.Next()
		if err != nil {
			c.Finish(err)
			return nil
		}
		at.hear(engaged)
		g.shards.put(from, packet)
	}
}

// tell sets who is told of a panic; nil: nobody.
func (g *gateway) tell(panicked func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.panicked = panicked
}

// caught reports a panic of a connection.
func (g *gateway) caught(err error) {
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

// keepAlive lets the kernel notice within two minutes that a far end is gone.
func keepAlive(nc net.Conn) {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = t.NetConn()
	}
	if c, ok := nc.(*limitedConn); ok {
		c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 45 * time.Second, Interval: 15 * time.Second, Count: 5})
	}
}

func (g *gateway) add(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[c.peer.Route] = c
	if g.closed { // between enter and here
		c.Close(CloseGoingAway, "")
	}
}

func (g *gateway) remove(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c.peer.Route)
}

// enter reports whether another connection may be opened, for which shutdown waits
// until leave.
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

// send passes a packet to its connection, if that still lives.
func (g *gateway) send(route uint32, packet []byte) {
	g.mu.RLock()
	c := g.conns[route]
	g.mu.RUnlock()
	if c != nil && c.Send(packet) == ErrBehind {
		g.overrun.Add(1)
	}
}

// disconnect ends one connection.
func (g *gateway) disconnect(route uint32, code uint16, reason string) {
	g.mu.RLock()
	c := g.conns[route]
	g.mu.RUnlock()
	if c != nil {
		c.Close(code, reason)
	}
}

// shutdown ends all connections: with a close frame and a moment to hear it,
// or without a word when code is 0. New ones are refused from now on. When the
// context ends first, the remaining ones are cut.
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
	stop := context.AfterFunc(ctx, func() { guard.Run("the end of a port", func() { g.each((*Conn).Abort) }, g.caught) })
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

// count is the number of connections.
func (g *gateway) count() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.conns)
}
