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

// Options are what a port can be told. The zero value listens on all
// addresses, on a port number that the kernel chooses.
type Options struct {
	Address netip.AddrPort // without an IP: all of IPv4 and IPv6
	// TCPPort is the number of HTTP and WebSocket; 0 is the same as UDP.
	TCPPort   uint16
	UDP       UDPOptions
	WebSocket GatewayOptions
	HTTP      HTTPOptions
}

// Port is one port number with all that listens there: the UDP socket, and the
// TCP listener for HTTP and WebSocket. One loop calls Receive; Send, Wake and
// the rest may be called by anybody.
//
// Several loops may share a number (see ListenShards): each has a port of its own.
// The first is as any other; its siblings have their UDP socket and their inbox, and
// use its gateway. What is about HTTP, TCP and the connections is done by the first
// alone: there it does nothing at a sibling.
type Port struct {
	udp     *UDP
	via     *UDP // sends: udp, unless that is not bound to the number
	inbox   *inbox
	shards  *shards // never nil
	index   int     // in shards
	first   *Port   // of the shards; itself, if it has what follows
	tcp     *net.TCPListener
	web     *http.Server
	pauser  *Pauser // between tcp and web
	gateway *gateway
	http    HTTPOptions
	secrets atomic.Pointer[secrets]  // nil: HTTP is not encrypted
	trusted atomic.Pointer[networks] // of proxies; never nil

	waiting atomic.Bool // the loop waits for the socket, or is about to
	woken   atomic.Bool

	packets []Packet
	ended   []wamble.Peer
	buffers [][]byte // for packets of connections
}

// Arrivals is what one Receive brings: packets, and far ends of connections
// that are gone. Both are valid until the next Receive.
type Arrivals struct {
	Packets []Packet
	Ended   []wamble.Peer
}

// Listen binds UDP and TCP to one number.
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

// listenTCP binds a number on one address, or on all.
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

// Adopt takes over the open sockets of a port that another image of this
// program has bound. It closes the files; the sockets live on.
func Adopt(udp, tcp *os.File, o Options) (*Port, error) {
	return only(AdoptShards([]*os.File{udp}, tcp, o, 1))
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

// newPort returns port k of the shards, without what only the first one has.
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
	p.web.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	// A request that waits for something to happen ends with Shutdown.
	base, ending := context.WithCancel(context.Background())
	p.web.BaseContext = func(net.Listener) context.Context { return base }
	p.web.RegisterOnShutdown(ending)
}

// Addr is the address of the UDP socket.
func (p *Port) Addr() netip.AddrPort { return p.via.LocalAddr() }

// TCPAddr is the address of HTTP and WebSocket.
func (p *Port) TCPAddr() netip.AddrPort {
	a := p.first.tcp.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// UDP is the datagram socket, for its counters and its descriptor.
func (p *Port) UDP() *UDP { return p.udp }

// TCP is the listener of HTTP and WebSocket, for its descriptor: use its
// SyscallConn, never its File.
func (p *Port) TCP() *net.TCPListener { return p.first.tcp }

// Receive waits until the given time (zero: for ever, past: not at all) or a
// Wake for something to arrive, and returns what is there, possibly nothing:
// at most ReadBatch datagrams and ReadBatch packets of connections. Only a
// closed or broken socket is an error.
func (p *Port) Receive(until time.Time) (Arrivals, error) {
	wait, err := p.udp.arm(until)
	if err != nil {
		return Arrivals{}, err
	}
	// First the deadline, then waiting, then a look at what came meanwhile:
	// what comes later finds waiting set, and interrupts.
	if wait = wait && !p.disturbed(); wait {
		p.waiting.Store(true)
		wait = !p.disturbed()
	}
	packets, err := p.udp.readArmed(wait)
	p.waiting.Store(false)
	if err != nil {
		return Arrivals{}, err
	}
	p.woken.Store(false)
	if self := p.shards.self(); self != 0 {
		for i := range packets {
			packets[i].Peer.Node = self
		}
	}
	if p.shards.many() {
		packets = p.keep(packets)
	}
	if p.inbox.waiting.Load() == 0 {
		return Arrivals{Packets: packets}, nil
	}
	p.packets = append(p.packets[:0], packets...)
	p.packets, p.ended = p.inbox.fetch(p.packets, p.ended[:0], p.buffers)
	return Arrivals{Packets: p.packets, Ended: p.ended}, nil
}

// disturbed reports whether there is something else to do than to wait.
func (p *Port) disturbed() bool { return p.woken.Load() || p.inbox.waiting.Load() > 0 }

// notify tells a loop that waits that the inbox is not empty.
func (p *Port) notify() {
	if p.waiting.Load() {
		p.udp.interrupt()
	}
}

// Wake makes a Receive that waits, or the next one, return at once.
func (p *Port) Wake() {
	p.woken.Store(true)
	p.notify()
}

// Send sends packets to their peers and never waits for one: a datagram that
// finds no room is lost, a connection that is too far behind is ended. The
// bytes are free again when Send returns. Only a closed or broken UDP socket
// is an error.
func (p *Port) Send(out Outgoing) error {
	datagrams, node := false, p.shards.joined.Load()
	for i := range out.Len() {
		peer, data := out.At(i)
		switch {
		case node != nil && elsewhere(node.self, peer):
			node.reply(p.index, peer, data)
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

// Configure changes the WebSocket's options for connections that come from now
// on; those that are open keep theirs.
func (p *Port) Configure(o GatewayOptions) { p.first.gateway.configure(o) }

// Disconnect ends the connection of a peer with a close code. Its end arrives
// at the loop as any other.
func (p *Port) Disconnect(peer wamble.Peer, code uint16, reason string) {
	p.first.gateway.disconnect(peer.Route, code, reason)
}

// Serve answers HTTP and WebSocket until the port is closed, then returns nil.
// Requests that are not for the WebSocket's path go to site, which may be nil.
// Panicked is told of a panic, which ends its connection alone; it may be nil.
func (p *Port) Serve(site http.Handler, panicked func(error)) error {
	if p.first != p {
		return nil
	}
	p.gateway.tell(panicked)
	p.web.Handler = Guarded(p.believed(p.http.route(p.gateway, site)), panicked)
	err := p.web.Serve(secureListener{p.pauser.Listen(p.http.Max, p.http.MaxHost, panicked), &p.secrets})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Measure has f told how long each WebSocket connection lasted, from before Serve on.
func (p *Port) Measure(f func(lasted time.Duration)) { p.first.gateway.ended = f }

// StopListening accepts no more connections: the number is free for others, unless a
// duplicate of the descriptor listens. Connections that are open go on.
func (p *Port) StopListening() error {
	if p.first != p {
		return nil
	}
	return p.pauser.listener.Close()
}

// Shutdown ends HTTP and WebSocket: requests in progress are finished (their
// contexts end, so that none waits for something to happen), and
// connections get the close code (CloseGoingAway before a restart; 0: none).
// Those that are left when the context ends are cut. UDP is not touched. The TCP
// listener is closed; a duplicate of its descriptor goes on listening. A sibling only
// takes no more packets of connections.
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

// Close ends everything at once. A Receive that waits returns net.ErrClosed. Each of
// several shards is closed by itself.
func (p *Port) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Shutdown(ctx, 0)
	p.StopListening()
	return p.udp.Close()
}

// Stats returns the counters of the connections; a sibling has none.
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

// GatewayStats counts connections since the port was opened: WebSocket, and for
// Evicted any.
type GatewayStats struct {
	Open    int    // now
	Refused uint64 // handshakes that failed
	Overrun uint64 // ended because they did not read
	Evicted uint64 // ended to make room for another
}
