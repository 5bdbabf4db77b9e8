package wamble

import "net/netip"

// Peer is the remote end of a packet, and the key of its endpoint: equal peers are the same endpoint.
type Peer struct {
	// Addr is the remote address: of the datagram, or of the TCP connection under a WebSocket. IPv4
	// addresses are never in their IPv6-mapped form.
	Addr netip.AddrPort
	// Route is 0 for UDP. A WebSocket connection has a number of its own, unique in the life of the
	// process.
	Route uint32
	// Node is the number of the node whose socket the remote end talks to; 0 on a single machine.
	Node uint32
}

// Stream reports whether packets to p arrive in order and are not lost while the connection lives, so that
// a written packet counts as delivered.
func (p Peer) Stream() bool { return p.Route != 0 }

// Place returns Node and Route in one number, as they are encoded; on a single machine it is Route.
func (p Peer) Place() uint64 { return uint64(p.Node)<<32 | uint64(p.Route) }

// SetPlace sets Node and Route.
func (p *Peer) SetPlace(n uint64) { p.Node, p.Route = uint32(n>>32), uint32(n) }

// IP returns the remote address without its port, for limits per host.
func (p Peer) IP() netip.Addr { return p.Addr.Addr() }

// HostOf returns the unit of limits per host: an IPv4 address, or an IPv6 /56, which one subscriber has. It
// is the zero Prefix if ip is invalid.
func HostOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := 56
	if ip.Is4() {
		bits = 32
	}
	host, _ := ip.Prefix(bits)
	return host
}
