package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"wamble/internal/guard"

	"wamble"
)

// Options configure a port. The zero value listens on all addresses, on a port number that the
// kernel chooses.
type Options struct {
	Address netip.AddrPort // without an IP: all of IPv4 and IPv6
	// TCPPort is the port number of HTTP and WebSocket; 0 means the number of UDP.
	TCPPort   uint16
	UDP       UDPOptions
	WebSocket GatewayOptions
	HTTP      HTTPOptions
}

// Port is one port number with its UDP socket and its TCP listener for HTTP and WebSocket. One
// loop calls Receive; the other methods may be called from any goroutine.
//
// Several loops may share a number (see ListenShards), with a port each. The first port has the
// TCP listener and the gateway. The others have a UDP socket and an inbox; their methods for
// HTTP, TCP and connections either do nothing or act on the first port.
type Port struct {
	udp     *UDP
	via     *UDP // the socket to send with: udp, unless that is not bound to the number
	inbox   *inbox
	shards  *shards // never nil
	index   int     // in shards
	first   *Port   // first port of the shards; only it has the fields below
	tcp     *net.TCPListener
	web     *http.Server
	pauser  *Pauser // wraps tcp for web
	gateway *gateway
	http    HTTPOptions
	secrets atomic.Pointer[secrets]  // nil if HTTP is not encrypted
	trusted atomic.Pointer[networks] // networks of proxies; never nil

	waiting atomic.Bool // the loop waits for the socket, or is about to
	woken   atomic.Bool

	packets []Packet
	ended   []wamble.Peer
	buffers [][]byte // for packets of connections
}

// Arrivals is the result of one Receive: packets, and peers of connections that have ended.
// Both are valid until the next Receive.
type Arrivals struct {
	Packets []Packet // first datagrams, then packets of connections and from other shards and nodes
	Ended   []wamble.Peer
	Full    bool // there may be more datagrams: Drain returns them
}

// Listen binds UDP and TCP to one port number.
func Listen(o Options) (*Port, error) { return only(ListenShards(o, 1)) }

func listenOnce(o Options, n int) ([]*Port, error) {
	number := o.TCPPort
	if number == 0 {
		number = o.Address.Port()
	}
	tcp, err := listenTCP(o.Address.Addr(), number, o.UDP.reusePort)
	if err != nil {
		return nil, err
	}
	address := o.Address
	if address.Port() == 0 && o.TCPPort == 0 {
		address = netip.AddrPortFrom(address.Addr(), tcp.Addr().(*net.TCPAddr).AddrPort().Port())
	}
	udp, err := ListenUDP(address, o.UDP)
	if err != nil {
		tcp.Close()
		return nil, err
	}
	return newPorts([]*UDP{udp}, tcp, o, n)
}

// listenTCP binds a port number on one address, or on all.
func listenTCP(address netip.Addr, number uint16, reusePort control) (*net.TCPListener, error) {
	host := ""
	if address.IsValid() && !(address.Is6() && address.IsUnspecified()) {
		host = address.String()
	}
	bind := net.ListenConfig{Control: reusePort}
	l, err := bind.Listen(context.Background(), "tcp", net.JoinHostPort(host, fmt.Sprint(number)))
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

func adoptTCP(file *os.File) (*net.TCPListener, error) {
	l, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return nil, fmt.Errorf("adopt descriptor: %w", err)
	}
	t, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("adopt descriptor: it is a %s socket, not TCP", l.Addr().Network())
	}
	return t, nil
}

// newPort returns port k of the shards, without the fields that only the first port has.
func newPort(udp *UDP, s *shards, k int) *Port {
	p := &Port{udp: udp, via: udp, shards: s, index: k}
	p.inbox = newInbox(p.notify)
	p.packets = make([]Packet, 0, 2*ReadBatch)
	p.buffers = make([][]byte, ReadBatch)
	return p
}

// listens makes p the first of its shards.
func (p *Port) listens(tcp *net.TCPListener, o Options) {
	p.first, p.tcp, p.http = p, tcp, o.HTTP.withDefaults()
	p.gateway = newGateway(o.WebSocket, p.shards)
	p.web = p.http.server()
	p.pauser = NewPauser(tcp, p.web)
	p.Trust(o.HTTP.Proxies)
	p.pauser.trusts = p.trusts
	p.web.ConnContext = func(ctx context.Context,
		c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	// Shutdown ends the context of every request, so that long-polling requests return.
	base, ending := context.WithCancel(context.Background())
	p.web.BaseContext = func(net.Listener) context.Context { return base }
	p.web.RegisterOnShutdown(ending)
}

// Addr returns the address of the UDP socket.
func (p *Port) Addr() netip.AddrPort { return p.via.LocalAddr() }

// TCPAddr returns the address of HTTP and WebSocket.
func (p *Port) TCPAddr() netip.AddrPort {
	a := p.first.tcp.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// UDP returns the datagram socket, for its counters and its descriptor.
func (p *Port) UDP() *UDP { return p.udp }

// TCP returns the listener of HTTP and WebSocket, for its descriptor: use SyscallConn, never
// File, which makes it blocking.
func (p *Port) TCP() *net.TCPListener { return p.first.tcp }

// Receive returns what has arrived, at most ReadBatch datagrams and ReadBatch packets of
// connections. If there is nothing, it waits until the given time (zero: forever, past: not at
// all), a Wake or an arrival, and may return nothing. It fails only if the socket is closed or
// broken.
func (p *Port) Receive(until time.Time) (Arrivals, error) {
	wait, err := p.udp.arm(until)
	if err != nil {
		return Arrivals{}, err
	}
	// Set waiting, then look at the inbox again: whatever arrives later finds waiting set, and
	// interrupts the read.
	if wait = wait && !p.hasWork(); wait {
		p.waiting.Store(true)
		wait = !p.hasWork()
	}
	packets, err := p.udp.readArmed(wait)
	p.waiting.Store(false)
	if err != nil {
		return Arrivals{}, err
	}
	p.woken.Store(false)
	full := p.udp.read.full()
	packets = p.keepOwn(packets)
	if p.inbox.waiting.Load() == 0 {
		return Arrivals{Packets: packets, Full: full}, nil
	}
	p.packets = append(p.packets[:0], packets...)
	p.packets, p.ended = p.inbox.fetch(p.packets, p.ended[:0], p.buffers)
	return Arrivals{Packets: p.packets, Ended: p.ended, Full: full}, nil
}

// Drain returns more of the datagrams that have arrived, valid until the next Receive or Drain, and whether there may
// be still more. It does not wait. The packets of connections that Receive has returned stay valid, its datagrams do
// not.
func (p *Port) Drain() (packets []Packet, full bool, err error) {
	packets, err = p.udp.readArmed(false)
	return p.keepOwn(packets), p.udp.read.full(), err
}

// Hold makes room in the kernel for what arrives until Receive has read it, as during a handoff.
func (p *Port) Hold() { p.udp.hold() }

// keepOwn forwards the datagrams for other shards and returns the remaining ones, with the number of this node.
func (p *Port) keepOwn(packets []Packet) []Packet {
	if self := p.shards.self(); self != 0 {
		for i := range packets {
			packets[i].Peer.Node = self
		}
	}
	if p.shards.many() {
		packets = p.forwardOthers(packets)
	}
	return packets
}

// hasWork reports whether Receive must not wait.
func (p *Port) hasWork() bool { return p.woken.Load() || p.inbox.waiting.Load() > 0 }

// notify interrupts the loop if it waits for the socket.
func (p *Port) notify() {
	if p.waiting.Load() {
		p.udp.interrupt()
	}
}

// Wake makes the current or the next Receive return at once.
func (p *Port) Wake() {
	p.woken.Store(true)
	p.notify()
}

// Send sends packets to their peers without blocking: it drops a datagram when the send buffer
// stays full, and ends a connection that reads too slowly. It does not keep the bytes. It fails
// only if the UDP socket is closed or broken.
func (p *Port) Send(out Outgoing) error {
	datagrams, node := false, p.shards.cluster.Load()
	for i := range out.Len() {
		peer, data := out.At(i)
		switch {
		case node != nil && isRemote(node.self, peer):
			node.forwardReply(p.index, peer, data)
		case peer.Stream():
			p.first.gateway.send(peer.Route, data)
		default:
			datagrams = true
		}
	}
	if !datagrams {
		return nil
	}
	return p.via.Write(out)
}

// Configure sets the WebSocket options of future connections.
func (p *Port) Configure(o GatewayOptions) { p.first.gateway.configure(o) }

// Disconnect ends the connection of a peer with a close code. The loop receives the peer in
// Arrivals.Ended.
func (p *Port) Disconnect(peer wamble.Peer, code uint16, reason string) {
	p.first.gateway.disconnect(peer.Route, code, reason)
}

// Serve answers HTTP and WebSocket until the port is closed, then returns nil. Requests for
// paths other than the WebSocket's go to site, which may be nil. Panicked, which may be nil,
// receives panics; each ends only its own connection.
func (p *Port) Serve(site http.Handler, panicked func(error)) error {
	if p.first != p {
		return nil
	}
	p.gateway.setPanicHandler(panicked)
	p.web.Handler = RecoverPanics(p.believed(p.http.route(p.gateway, site)), panicked)
	err := p.web.Serve(secureListener{p.pauser.Listen(p.http.Max, p.http.MaxHost, panicked), &p.secrets})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Measure sets a function that gets the duration of each WebSocket connection. It must be
// called before Serve.
func (p *Port) Measure(f func(lasted time.Duration)) { p.first.gateway.ended = f }

// StopListening stops accepting connections: the port number becomes free, unless a duplicate
// of the descriptor listens. Open connections continue.
func (p *Port) StopListening() error {
	if p.first != p {
		return nil
	}
	return p.pauser.listener.Close()
}

// Shutdown ends HTTP and WebSocket: the contexts of requests in progress end, the requests are
// finished, and connections get the close code (CloseGoingAway before a restart; 0 for no close
// frame). When ctx ends, the remaining ones are cut. UDP is not affected. The TCP listener is
// closed; a duplicate of its descriptor keeps listening. On a port that is not the first,
// Shutdown only stops the inbox.
func (p *Port) Shutdown(ctx context.Context, code uint16) error {
	if p.first != p {
		p.inbox.stop()
		return nil
	}
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		failed = guard.Call("the end of a port", func() error { p.gateway.shutdown(ctx, code); return nil })
	}()
	err := p.web.Shutdown(ctx)
	if err != nil {
		p.web.Close()
	}
	for _, shard := range p.shards.ports {
		shard.inbox.stop()
	}
	<-done
	return errors.Join(err, failed)
}

// Close ends everything at once. A waiting Receive returns net.ErrClosed. Each port of several
// shards must be closed.
func (p *Port) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Shutdown(ctx, 0)
	p.StopListening()
	return p.udp.Close()
}

// Stats returns the counters of connections; all are 0 for a port that is not the first.
func (p *Port) Stats() GatewayStats {
	if p.first != p {
		return GatewayStats{}
	}
	return GatewayStats{
		Open:    p.gateway.count(),
		Refused: p.gateway.refused.Load(),
		Overrun: p.gateway.overrun.Load(),
		Evicted: p.pauser.evicted.Load(),
	}
}

// GatewayStats counts WebSocket connections since the port was opened; Evicted counts all TCP
// connections.
type GatewayStats struct {
	Open    int    // now
	Refused uint64 // handshakes that failed
	Overrun uint64 // ended because the far end did not read
	Evicted uint64 // closed to make room for another
}
